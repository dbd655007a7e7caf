#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/threads/throttling.h"

namespace infeed::detail {

/// The times for which the kernel held the process back, by the accounts of its groups, which a
/// recorder looks at again and again.
class HeldBack {
 public:
  /// A time of the recording.
  struct Span {
    std::uint64_t begin_ns;
    std::uint64_t end_ns;
  };

  /// Begins with these accounts, whose time so far isn't the run's.
  void begin(const Throttling& all) { known_ = all; }
  /// Returns the time that has come to the accounts since the last look. The first look returns none.
  std::optional<Span> look(const Throttling& all, std::uint64_t now_ns);
  /// Returns the sum of all cores' time that was found since the last call.
  std::uint64_t take_sum_ns() { return std::exchange(sum_ns_, 0); }

 private:
  Throttling known_;
  std::optional<std::uint64_t> looked_at_ns_;
  std::uint64_t sum_ns_ = 0;
};

}  // namespace infeed::detail
