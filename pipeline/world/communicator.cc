#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <fmt/format.h>
#include <mutex>

#include <infeed/communicator.h>
#include <infeed/detail/meet_before_throwing.h>
#include <infeed/error.h>

#include "world/exchange_checks.h"
#include "world/shortened.h"

namespace infeed {
namespace {

/// The first message of all_gather() has a size that every rank knows, so that short texts, which
/// most are, need one exchange and not two.
struct GatherHead {
  std::uint64_t size = 0;
  std::array<char, 56> begin = {};
};
static_assert(sizeof(GatherHead) == 64);

std::span<const std::byte> bytes_of(const GatherHead& head) {
  return std::as_bytes(std::span(&head, 1));
}

class NoCommunicator final : public Communicator {
 public:
  World world() const override { return {}; }

  void exchange(detail::Outgoing outgoing, detail::Incoming incoming,
                std::string_view purpose) override {
    detail::check_exchange(world(), outgoing, incoming, purpose);
    std::copy(outgoing[0].begin(), outgoing[0].end(), incoming[0].begin());
  }

  [[noreturn]] void abort(std::string_view reason) override {
    throw Error(ErrorCode::cancelled, std::string(reason));
  }

  void send(int rank, int tag, std::span<const std::byte> bytes) override {
    detail::check_message(world(), rank, tag);
    const std::lock_guard lock(mutex_);
    messages_.push_back({.source = 0, .tag = tag, .bytes = {bytes.begin(), bytes.end()}});
    changed_.notify_one();
  }

  std::optional<Message> receive_any(std::chrono::nanoseconds limit) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, limit, [this] { return !messages_.empty(); })) return std::nullopt;
    Message message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
};

}  // namespace

std::vector<std::string> all_gather(Communicator& communicator, std::string_view bytes,
                                    std::string_view purpose) {
  const std::size_t ranks = static_cast<std::size_t>(communicator.world().size);
  GatherHead own{.size = bytes.size()};
  std::copy_n(bytes.begin(), std::min(bytes.size(), own.begin.size()), own.begin.begin());
  std::vector<GatherHead> heads(ranks);
  std::vector<std::span<const std::byte>> outgoing(ranks, bytes_of(own));
  std::vector<std::span<std::byte>> incoming;
  for (GatherHead& head : heads) incoming.push_back(std::as_writable_bytes(std::span(&head, 1)));
  communicator.exchange(outgoing, incoming, purpose);

  std::vector<std::string> all(ranks);
  bool is_whole = true;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const GatherHead& head = heads[rank];
    const bool is_short = head.size <= head.begin.size();
    is_whole = is_whole && is_short;
    if (is_short) all[rank].assign(head.begin.data(), static_cast<std::size_t>(head.size));
  }
  if (is_whole) return all;
  const bool has_more = bytes.size() > own.begin.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    outgoing[rank] = {};
    incoming[rank] = {};
    if (has_more) outgoing[rank] = std::as_bytes(std::span(bytes));
    if (heads[rank].size <= own.begin.size()) continue;
    all[rank].resize(static_cast<std::size_t>(heads[rank].size));
    incoming[rank] = std::as_writable_bytes(std::span(all[rank]));
  }
  communicator.exchange(outgoing, incoming, purpose);
  return all;
}

void barrier(Communicator& communicator, std::string_view purpose) {
  all_gather(communicator, {}, purpose);
}

void require_equal(Communicator& communicator, std::string_view name, std::string_view value) {
  const std::vector<std::string> all = all_gather(communicator, value, name);
  std::string others;
  std::string differences;
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    if (differences.empty()) {
      differences =
          fmt::format("rank {} has {}, rank 0 has {}", rank, detail::shortened(all[rank], all[0]),
                      detail::shortened(all[0], all[rank]));
    } else {
      others += fmt::format("{}{}", others.empty() ? "" : ", ", rank);
    }
  }
  if (differences.empty()) return;
  if (!others.empty())
    differences += fmt::format("; these ranks differ from rank 0, too: {}", others);
  detail::meet_before_throwing(communicator, name);
  throw Error(
      ErrorCode::failed_precondition,
      fmt::format("the ranks differ in '{}': {}; all ranks of a job must run the same program "
                  "with the same options and data",
                  name, differences));
}

std::unique_ptr<Communicator> no_communicator() { return std::make_unique<NoCommunicator>(); }

}  // namespace infeed
