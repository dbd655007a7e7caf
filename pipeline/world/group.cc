#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <infeed/communicator.h>
#include <infeed/error.h>

#include "world/exchange_checks.h"

namespace infeed {
namespace {

/// An exchange of `all` involves only the ranks whose spans aren't empty, so that of a group is one
/// with empty spans for the others.
class Group final : public Communicator {
 public:
  Group(Communicator& all, std::vector<int> ranks)
      : all_(all), ranks_(std::move(ranks)), world_(world_in(all.world(), ranks_)) {}

  World world() const override { return world_; }

  void exchange(detail::Outgoing outgoing, detail::Incoming incoming,
                std::string_view purpose) override {
    detail::check_exchange(world_, outgoing, incoming, purpose);
    const std::size_t size = static_cast<std::size_t>(all_.world().size);
    std::vector<std::span<const std::byte>> out(size);
    std::vector<std::span<std::byte>> in(size);
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      out[static_cast<std::size_t>(ranks_[i])] = outgoing[i];
      in[static_cast<std::size_t>(ranks_[i])] = incoming[i];
    }
    try {
      all_.exchange(out, in, purpose);
    } catch (const RankLost& lost) {
      const auto found = std::find(ranks_.begin(), ranks_.end(), lost.rank());
      throw RankLost(found == ranks_.end() ? -1 : static_cast<int>(found - ranks_.begin()),
                     lost.message());
    }
  }

  [[noreturn]] void abort(std::string_view reason) override {
    all_.abort(reason);
    std::terminate();  // GCC forgets that a virtual call doesn't return
  }

  void send(int, int, std::span<const std::byte>) override { refuse(); }
  std::optional<Message> receive_any(std::chrono::nanoseconds) override { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    throw Error(ErrorCode::failed_precondition,
                "a group of ranks only exchanges: a message may come from any rank of the job, so "
                "send and receive it by the job's own communicator");
  }

  static World world_in(const World& all, const std::vector<int>& ranks) {
    std::vector<int> sorted = ranks;
    std::sort(sorted.begin(), sorted.end());
    const auto own = std::find(ranks.begin(), ranks.end(), all.rank);
    const bool is_good = own != ranks.end() && sorted.front() >= 0 && sorted.back() < all.size &&
                         std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    if (is_good) {
      return {static_cast<int>(own - ranks.begin()), static_cast<int>(ranks.size())};
    }
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("a group of the ranks {} at rank {} of {}: name each rank once, this one "
                    "among them",
                    fmt::join(ranks, ", "), all.rank, all.size));
  }

  Communicator& all_;
  const std::vector<int> ranks_;
  const World world_;
};

}  // namespace

std::unique_ptr<Communicator> group_of(Communicator& all, std::vector<int> ranks) {
  return std::make_unique<Group>(all, std::move(ranks));
}

}  // namespace infeed
