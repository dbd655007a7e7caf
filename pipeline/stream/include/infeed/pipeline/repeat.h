#pragma once

#include <cstdint>

#include <infeed/pipeline/dataset.h>

namespace infeed {
namespace detail {

NodePointer make_repeat(std::int64_t count, NodePointer input);

}  // namespace detail

/// Reads the input `count` times, one epoch each; with a negative count (the default) for ever. An
/// empty pass ends an endless repeat. Each pass starts its input anew with the next epoch, so a
/// shuffle before repeat gives another order each time.
inline auto repeat(std::int64_t count = -1, StageOptions options = {}) {
  return named_stage(options.name, untyped_stage(detail::make_repeat, count));
}

}  // namespace infeed
