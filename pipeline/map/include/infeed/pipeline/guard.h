#pragma once

#include <chrono>

#include <infeed/count.h>

namespace infeed {

/// Why: a function that asks the world (a server, a disk) fails now and then. What is transient is
/// tried again.
///
/// No function can be stopped from outside, so none is given a time limit here. One that may never
/// answer sets a limit on what it calls (a socket's or a request's own), and throws
/// Error(ErrorCode::unavailable) when it runs out. IterateOptions::watchdog reports which stage
/// hangs.
struct GuardOptions {
  /// How often a call that threw Error(ErrorCode::unavailable) is made again; other errors are
  /// final. The element is copied for it, so it must be copyable.
  Count retries = 0;
  /// The wait before the first repetition; it is doubled before each further one, up to
  /// backoff_max.
  std::chrono::milliseconds backoff{10};
  std::chrono::milliseconds backoff_max{1000};
};

}  // namespace infeed
