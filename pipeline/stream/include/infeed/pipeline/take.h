#pragma once

#include <cstdint>

#include <infeed/pipeline/dataset.h>

namespace infeed {
namespace detail {

NodePointer make_take(std::int64_t count, NodePointer input);

struct TakeStageFactory {
  std::int64_t count;

  template <class T>
  Dataset<T> operator()(const Dataset<T>& input) const {
    return Dataset<T>(make_take(count, input.node()));
  }
};

}  // namespace detail

/// Why: the first `count` elements, errors included; a negative count takes all.
inline auto take(std::int64_t count) { return detail::TakeStageFactory{count}; }

}  // namespace infeed
