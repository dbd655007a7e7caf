#pragma once

#include <cstdint>

#include <infeed/pipeline/dataset.h>

namespace infeed {
namespace detail {

NodePointer make_take(std::int64_t count, NodePointer input);

}  // namespace detail

/// Gives the first `count` elements, errors included; a negative count takes all.
/// After a shuffle that draws anew for each pass, take(n) and skip(n) are halves of one pass only:
/// shuffle.h has a split for validation.
inline auto take(std::int64_t count, StageOptions options = {}) {
  return named_stage(options.name, untyped_stage(detail::make_take, count));
}

}  // namespace infeed
