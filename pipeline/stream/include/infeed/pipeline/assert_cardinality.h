#pragma once

#include <cstdint>

#include <infeed/pipeline/dataset.h>

namespace infeed {
namespace detail {

NodePointer make_assert_cardinality(std::int64_t count, NodePointer input);

}  // namespace detail

/// Why: this says how many elements there are where no stage can know it (behind filter, flat_map,
/// interleave), so that those behind it can: a progress bar, a full shuffle's memory, take, repeat.
///
///     files | infeed::interleave(read) | infeed::assert_cardinality(60'000)
///
/// A pass that ends earlier, or goes on behind `count` elements (errors included), is a terminal
/// error, failed_precondition: next() throws it now and ever after. It is no part of a checkpoint.
inline auto assert_cardinality(std::int64_t count, StageOptions options = {}) {
  return named_stage(options.name, untyped_stage(detail::make_assert_cardinality, count));
}

}  // namespace infeed
