#include "infeed/pipeline/stage.h"

#include <algorithm>

#include "run_context.h"

namespace infeed {

Pull Stage::pull(Chunk& out, std::size_t want) {
  if (run_.cancelled()) return Pull::cancelled;
  using Counters = detail::StageCounters;
  const Counters::Inside inside(*counters_);
  const std::uint64_t begin = detail::ticks_now();
  const Pull pulled = do_pull(out, want);
  Counters::add(counters_->ticks, detail::ticks_now() - begin);
  Counters::add(counters_->pulls, 1);
  Counters::add(counters_->elements, out.slots());
  if (out.has_error()) Counters::add(counters_->errors, 1);
  return pulled;
}

std::uint64_t Stage::do_skip(std::uint64_t count) {
  Chunk dropped(*type_);
  std::uint64_t skipped = 0;
  while (skipped < count) {
    const std::uint64_t want = std::min<std::uint64_t>(dropped.capacity(), count - skipped);
    if (pull(dropped, static_cast<std::size_t>(want)) != Pull::values) break;
    skipped += dropped.slots();
    dropped.clear();
  }
  return skipped;
}

std::unique_ptr<Stage> Node::open(const StageScope& consumer) const {
  StageScope scope = consumer;
  scope.counters = &consumer.run.counters_of(name_, consumer.counters, consumer.input_ordinal);
  scope.input_ordinal = 0;
  scope.type = type_;
  return make_stage(scope);
}

}  // namespace infeed
