#pragma once

#include <chrono>

#include <infeed/count.h>

namespace infeed {

/// Why: a function that asks the world (a server, a disk) fails now and then, and sometimes never
/// answers. What is transient is tried again; what takes too long is given up.
struct GuardOptions {
  /// How often a call that threw Error(ErrorCode::unavailable) is made again; other errors are
  /// final. The element is copied for it, so it must be copyable.
  Count retries = 0;
  /// The wait before the first repetition; it is doubled before each further one, up to
  /// backoff_max.
  std::chrono::milliseconds backoff{10};
  std::chrono::milliseconds backoff_max{1000};
  /// The longest time for one call; 0 means no limit. A call that takes longer becomes Error
  /// deadline_exceeded in its element's place (not the watchdog's terminal one). No function can be
  /// killed from outside: its call runs on in a thread that is left to itself, even beyond the end
  /// of the iteration, so the function may only use what it owns (captures by value or shared_ptr).
  /// When 64 such calls are still running, further elements fail at once with resource_exhausted.
  ///
  /// It costs a thread (20-40 us) for each 1 to 1,024 elements. With the inline executor there is no
  /// second thread: a call that took too long is noticed when it returns.
  std::chrono::milliseconds time_limit{0};

  bool is_active() const { return retries != 0 || time_limit.count() != 0; }
};

}  // namespace infeed
