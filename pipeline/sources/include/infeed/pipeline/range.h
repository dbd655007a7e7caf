#pragma once

#include <cstdint>
#include <utility>

#include <infeed/pipeline/dataset.h>

namespace infeed {

/// Gives the integers start, start+step, ... up to but not including stop; the usual source of
/// indices and of tests. A negative step counts down; step 0 is an error (invalid_argument).
///
///     infeed::range(10)            // 0 1 ... 9
///     infeed::range(10, 0, -3)     // 10 7 4 1
Dataset<std::int64_t> range(std::int64_t start, std::int64_t stop, std::int64_t step = 1,
                            StageOptions options = {});
inline Dataset<std::int64_t> range(std::int64_t stop, StageOptions options = {}) {
  return range(0, stop, 1, std::move(options));
}

/// Gives start, start+step, ... without an end.
Dataset<std::int64_t> counter(std::int64_t start = 0, std::int64_t step = 1,
                              StageOptions options = {});

}  // namespace infeed
