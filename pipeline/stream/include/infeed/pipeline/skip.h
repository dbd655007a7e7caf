#pragma once

#include <cstdint>

#include <infeed/pipeline/dataset.h>

namespace infeed {
namespace detail {

NodePointer make_skip(std::int64_t count, NodePointer input);

}  // namespace detail

/// Gives all but the first `count` elements, errors included; a negative count skips all. Functions
/// of the stages before aren't called for skipped elements if the stream doesn't depend on it. An
/// error that may pass (unavailable, deadline_exceeded) among them is terminal: behind it other
/// elements may lie.
/// After a shuffle that draws anew for each pass, take(n) and skip(n) are halves of one pass only:
/// shuffle.h has a split for validation.
inline auto skip(std::int64_t count, StageOptions options = {}) {
  return named_stage(options.name, untyped_stage(detail::make_skip, count));
}

}  // namespace infeed
