#include "train_ablation.h"

#include <infeed/device/paced.h>
#include <infeed/error.h>

namespace infeed::tools {

std::vector<Variant> ablation_variants() {
  return {{"naive", {}},
          {"parallel interleave", {.parallel_interleave = true}},
          {"parallel map", {.parallel_map = true}},
          {"cache", {.cache = true}},
          {"prefetch", {.prefetch = true}},
          {"all of them", Tricks::all()}};
}

MeasuredRun measure(const Slice& slice, const Variant& variant, const PipelineOptions& pipeline,
                    const MeasureOptions& options) {
  const Batches batches = feeding_pipeline(pipeline, variant.tricks);
  const PacedResult result = run_paced(slice, batch_source(batches, {.executor = options.executor}),
                                       {.step = options.step,
                                        .feed = InfeedFeed::on_demand,
                                        .duration = options.duration,
                                        .warmup_steps = options.warmup_steps,
                                        .stop = options.stop});
  if (result.end == RunEnd::cancelled) throw Error(ErrorCode::cancelled, "stopped");
  return {variant.name, result.summary};
}

}  // namespace infeed::tools
