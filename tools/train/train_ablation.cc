#include "train/train_ablation.h"

#include <algorithm>

#include <infeed/error.h>

namespace infeed::tools {

std::vector<Variant> ablation_variants() {
  return {{"naive", {}},
          {"parallel interleave", {.parallel_interleave = true}},
          {"parallel map", {.parallel_map = true}},
          {"cache", {.cache = true}},
          {"prefetch", {.prefetch = true}},
          {"all, by hand", Tricks::all_by_hand()},
          {"all of them", Tricks::all()}};
}

std::vector<Variant> outer_variants() {
  const std::vector<Variant> all = ablation_variants();
  return {all.front(), all.back()};
}

MeasuredRun measure(const Slice& slice, const Variant& variant, const PipelineOptions& pipeline,
                    const MeasureOptions& options) {
  const Batches batches = feeding_pipeline(pipeline, variant.tricks);
  const auto iterator =
      std::make_shared<Iterator<Batch<Example>>>(batches.iterate({.executor = options.executor}));
  const PacedResult result = run_paced(slice, batch_source(iterator),
                                       {.step = options.step,
                                        .feed = options.feed,
                                        .duration = options.duration,
                                        .warmup_steps = options.warmup_steps,
                                        .stop = options.stop});
  if (result.end == RunEnd::cancelled) throw Error(ErrorCode::cancelled, "stopped");
  return {variant.name, result.summary, iterator->tuning()};
}

namespace {

MeasuredRun middle_of(std::vector<MeasuredRun> turns) {
  std::vector<double> rates;
  for (const MeasuredRun& turn : turns) rates.push_back(turn.summary.examples_per_s);
  std::ranges::sort(turns, {}, [](const MeasuredRun& turn) { return turn.summary.examples_per_s; });
  MeasuredRun middle = std::move(turns[turns.size() / 2]);
  middle.examples_per_s_turns = std::move(rates);
  return middle;
}

}  // namespace

std::vector<MeasuredRun> measure_by_turns(const Slice& slice, const std::vector<Variant>& variants,
                                          const PipelineOptions& pipeline, MeasureOptions options,
                                          const TurnCallbacks& callbacks) {
  options.duration /= kTurns;
  std::vector<std::vector<MeasuredRun>> turns(variants.size());
  std::vector<MeasuredRun> rows;
  for (int turn = 1; turn <= kTurns; ++turn) {
    for (std::size_t i = 0; i < variants.size(); ++i) {
      callbacks.on_begin(variants[i], turn);
      turns[i].push_back(measure(slice, variants[i], pipeline, options));
      if (turn < kTurns) continue;
      rows.push_back(middle_of(std::move(turns[i])));
      callbacks.on_row(rows.back());
    }
  }
  return rows;
}

}  // namespace infeed::tools
