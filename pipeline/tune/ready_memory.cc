#include "tune/ready_memory.h"

#include <fmt/format.h>
#include <utility>

#include "tune/tuning_text.h"

namespace infeed::detail {
namespace {

// Shares of the control group's limit. Above kNearlyFull, elements that are only kept ready are
// given up until kFilledAgain is in use. Below kHasRoom, buffers may grow again.
constexpr double kNearlyFull = 0.9;
constexpr double kFilledAgain = 0.8;
constexpr double kHasRoom = 0.7;
// Windows to wait after a change: buffers must drain, and pages go back, before its effect shows.
constexpr int kMemoryWindows = 5;

std::uint64_t above(double more, double less) {
  return more > less ? static_cast<std::uint64_t>(more - less) : 0;
}

}  // namespace

bool ReadyMemory::look(const TuningObservation& seen, TuningDecision& decision) {
  const std::uint64_t before = std::exchange(limit_bytes_, seen.memory_limit_bytes);
  const bool is_another = before != UINT64_MAX && before != seen.memory_limit_bytes;
  if (is_another) {
    const auto text = [](std::uint64_t bytes) { return bytes == 0 ? "none" : bytes_text(bytes); };
    decision.notes.push_back(fmt::format("the limit of memory is {} now ({} before)",
                                         text(seen.memory_limit_bytes), text(before)));
  }
  bound(seen, decision);
  return is_another;
}

void ReadyMemory::bound(const TuningObservation& seen, TuningDecision& decision) {
  ++windows_;
  const bool has_waited = windows_ > kMemoryWindows;
  const auto used = static_cast<double>(seen.group_bytes);
  const auto limit = static_cast<double>(seen.group_limit_bytes);
  const auto set = [&](std::uint64_t bytes, std::string note) {
    ready_bytes_max_ = bytes;
    windows_ = 0;
    decision.ready_bytes_max = bytes;
    decision.notes.push_back(std::move(note));
  };
  if (seen.group_limit_bytes != 0 && used > kNearlyFull * limit) {
    const std::uint64_t over = above(used, kFilledAgain * limit);
    const std::uint64_t less =
        above(static_cast<double>(seen.ready_bytes), static_cast<double>(over));
    if (!ready_bytes_max_ && seen.ready_bytes == 0) return;  // there is nothing to give
    if (ready_bytes_max_ && (!has_waited || less >= *ready_bytes_max_)) return;
    if (!ready_bytes_max_) ready_bytes_before_ = seen.ready_bytes;
    set(less,
        fmt::format("the control group uses {} of {}: what is kept ready may be {} ({} before)",
                    bytes_text(seen.group_bytes), bytes_text(seen.group_limit_bytes),
                    bytes_text(less), bytes_text(seen.ready_bytes)));
  } else if (ready_bytes_max_ && has_waited && used <= kHasRoom * limit) {
    const std::uint64_t more = *ready_bytes_max_ + above(kFilledAgain * limit, used);
    if (more < ready_bytes_before_ && seen.group_limit_bytes != 0) {
      set(more, fmt::format("the control group has room again: what is kept ready may be {}",
                            bytes_text(more)));
      return;
    }
    set(UINT64_MAX, "the control group has room again: what is kept ready may be as before");
    ready_bytes_max_.reset();
  }
}

}  // namespace infeed::detail
