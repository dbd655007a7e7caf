#pragma once

#include <chrono>

#include <infeed/records/url_options.h>

namespace infeed::test {

/// Returns the default retries, but without waiting.
inline UrlOptions quick_retries() {
  using std::chrono::milliseconds;
  return {.retry_delay = milliseconds(1), .retry_delay_max = milliseconds(2)};
}

}  // namespace infeed::test
