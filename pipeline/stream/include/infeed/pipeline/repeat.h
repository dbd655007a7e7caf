#pragma once

#include <cstdint>

#include <infeed/pipeline/dataset.h>

namespace infeed {
namespace detail {

NodePointer make_repeat(std::int64_t count, NodePointer input);

struct RepeatStageFactory {
  std::int64_t count;

  template <class T>
  Dataset<T> operator()(const Dataset<T>& input) const {
    return Dataset<T>(make_repeat(count, input.node()));
  }
};

}  // namespace detail

/// Why: goes through the input `count` times, an epoch each; a negative count (default) for ever. A
/// pass that gives nothing ends an endless repeat. Each pass starts its input anew with the next
/// epoch, so a shuffle before repeat gives another order each time.
inline auto repeat(std::int64_t count = -1) { return detail::RepeatStageFactory{count}; }

}  // namespace infeed
