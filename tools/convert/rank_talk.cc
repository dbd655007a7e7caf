#include "convert/rank_talk.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <span>
#include <thread>

#include <infeed/error.h>

namespace infeed::tools {
namespace {

// Shards take much longer, and the cores belong to the threads that make them.
constexpr auto kPause = std::chrono::milliseconds(1);

struct Head {
  std::uint64_t set;
  std::uint64_t number;
};

}  // namespace

void send_message(Communicator& ranks, int rank, const RankMessage& message) {
  const Head head{.set = message.set, .number = message.number};
  std::string bytes(sizeof(head), '\0');
  std::memcpy(bytes.data(), &head, sizeof(head));
  bytes += message.text;
  ranks.send(rank, static_cast<int>(message.word), std::as_bytes(std::span(bytes)));
}

std::optional<ReceivedMessage> next_message(Communicator& ranks) {
  const auto received = ranks.receive_any(std::chrono::nanoseconds(0));
  if (!received) {
    std::this_thread::sleep_for(kPause);
    return std::nullopt;
  }
  Head head;
  if (received->bytes.size() < sizeof(head)) {
    throw Error(ErrorCode::internal,
                fmt::format("rank {} sent a message of {} bytes instead of {} or more",
                            received->source, received->bytes.size(), sizeof(head)));
  }
  std::memcpy(&head, received->bytes.data(), sizeof(head));
  ReceivedMessage message;
  message.word = static_cast<Word>(received->tag);
  message.set = static_cast<std::uint32_t>(head.set);
  message.number = head.number;
  const auto text = std::span(received->bytes).subspan(sizeof(head));
  message.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
  message.source = received->source;
  return message;
}

Silence::Silence(int size, std::chrono::nanoseconds max)
    : max_(max), heard_(static_cast<std::size_t>(size), Clock::now()) {}

void Silence::heard(int rank) { heard_[static_cast<std::size_t>(rank)] = Clock::now(); }

bool Silence::is_too_long(int rank) {
  const Clock::time_point now = Clock::now();
  if (now - checked_ > max_ / 4) std::fill(heard_.begin(), heard_.end(), now);
  checked_ = now;
  return now - heard_[static_cast<std::size_t>(rank)] > max_;
}

}  // namespace infeed::tools
