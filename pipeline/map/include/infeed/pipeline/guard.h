#pragma once

#include <chrono>

#include <infeed/count.h>

namespace infeed {

/// Why: a function that depends on the outside (a server, a disk) fails now and then. Calls with
/// transient errors are repeated.
///
/// There is no time limit for a function, because it can't be stopped from outside. A function that
/// may never return must limit its own calls (the timeout of a socket or request), and throw
/// Error(ErrorCode::unavailable) when the time runs out. IterateOptions::watchdog reports which
/// stage hangs.
struct GuardOptions {
  /// The most repetitions of a call that threw Error(ErrorCode::unavailable); other errors are
  /// final. Each try needs a copy of the element, so it must be copyable.
  Count retries = 0;
  /// The wait before the first repetition. It doubles before each further one, up to backoff_max.
  std::chrono::milliseconds backoff{10};
  std::chrono::milliseconds backoff_max{1000};
};

}  // namespace infeed
