#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/paced.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>
#include <infeed/pipeline/executor.h>

#include "train/train_pipelines.h"

/// Why: what is each trick worth? The same images get the same work in the same process, and a
/// simulated TPU in paced mode says how long it had to wait for them.
namespace infeed::tools {

/// A pipeline of the comparison.
struct Variant {
  std::string name;
  Tricks tricks;
};

/// naive, each trick alone, all but each one, all of them with numbers that were tried out, all of them by
/// autotune.
std::vector<Variant> ablation_variants();

struct MeasureOptions {
  StepTime step;
  std::chrono::nanoseconds duration;
  /// Not counted. A pass over the data, so that the cache is filled (and memory touched).
  std::int64_t warmup_steps = 0;
  std::shared_ptr<Executor> executor = nullptr;
  std::stop_token stop = {};
};

/// One row of the table.
struct MeasuredRun {
  std::string name;
  StepSummary summary = {};
  TuningReport tuning = {};  ///< of the same turn
  /// Of each turn, when it was measured by turns; `summary` is the turn in the middle.
  std::vector<double> examples_per_s_turns = {};
  /// The pipeline's time for each batch of that turn.
  std::vector<std::int64_t> service_ps = {};
};

/// The gain of a trick when it comes first, and when all others are there already.
struct TrickGain {
  std::string name;
  double alone = 0;  ///< images a second, divided by those of the naive pipeline
  double last = 0;   ///< those of all tricks, divided by those of all but this one
};

/// `runs`: of ablation_variants().
std::vector<TrickGain> trick_gains(const std::vector<MeasuredRun>& runs);

/// Throws what the pipeline does; cancelled when stopped.
MeasuredRun measure(const Slice& slice, const Variant& variant, const PipelineOptions& pipeline,
                    const MeasureOptions& options);

/// How often each pipeline gets its turn.
inline constexpr int kTurns = 3;

struct TurnCallbacks {
  std::function<void(const Variant&, int turn)> on_begin = [](const Variant&, int) {
  };  ///< turn: from 1
  std::function<void(const MeasuredRun&)> on_row = [](const MeasuredRun&) {};
};

/// The two ends of the comparison: naive, and all tricks by autotune.
std::vector<Variant> outer_variants();

/// Every pipeline for a third of the time, then all of them again: what slows the machine down for
/// a while slows down all, and the turn in the middle counts.
std::vector<MeasuredRun> measure_by_turns(const Slice& slice, const std::vector<Variant>& variants,
                                          const PipelineOptions& pipeline, MeasureOptions options,
                                          const TurnCallbacks& callbacks);

}  // namespace infeed::tools
