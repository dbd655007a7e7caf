#pragma once

#include <cstdint>

#include <infeed/pipeline/dataset.h>

namespace infeed {
namespace detail {

NodePointer make_assert_cardinality(std::int64_t count, NodePointer input);

}  // namespace detail

/// Says how many elements there are where no stage can know it (after filter, flat_map,
/// interleave). Later stages can then use the number: a progress bar, a full shuffle's memory,
/// take, repeat.
///
///     files | infeed::interleave(read) | infeed::assert_cardinality(60'000)
///
/// If a pass ends earlier, or goes on after `count` elements (errors included), that is a terminal
/// error, failed_precondition: next() throws it then and at every later call. The stage isn't part
/// of a checkpoint.
inline auto assert_cardinality(std::int64_t count, StageOptions options = {}) {
  return named_stage(options.name, untyped_stage(detail::make_assert_cardinality, count));
}

}  // namespace infeed
