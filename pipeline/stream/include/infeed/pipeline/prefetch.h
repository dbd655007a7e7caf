#pragma once

#include <cstdint>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/options.h>

namespace infeed {
namespace detail {

NodePointer make_prefetch(std::int64_t depth, NodePointer input);

}  // namespace detail

/// Works ahead: its own thread pulls the stages before while the consumer is busy.
///
/// `depth` elements are kept ready, or 32 KiB of them if that is more. (Small elements at depth 2
/// would cost a thread switch each: 6-22 us instead of 8 ns.)
///
/// autotune starts with 32 KiB or two elements. It doubles that each time the queue was full and
/// then found empty, up to 512 KiB or 32 elements. It doubles further, up to 64 MiB, only if the
/// consumer waits that way for more than a 32nd of the time, and more than 200 us each time. After
/// a stage that keeps batches ready itself (parse_batch, batch_into, parse_columns with threads)
/// autotune uses no queue of its own, since one thread more costs a tenth of the rate there.
///
/// With 0 there is no thread, and nothing is kept ready. Elements keep their order. Within the
/// iterator's memory limit the queue holds less.
///
///     dataset | infeed::batch(1024) | infeed::prefetch(2)
inline auto prefetch(std::int64_t depth = autotune, StageOptions options = {}) {
  return named_stage(options.name, untyped_stage(detail::make_prefetch, depth));
}

}  // namespace infeed
