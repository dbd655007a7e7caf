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

/// Why: the comparison shows the gain of each trick. The same images get the same work in the same
/// process; a simulated TPU in paced mode measures how long it waits for them.
namespace infeed::tools {

/// A pipeline of the comparison.
struct Variant {
  std::string name;
  Tricks tricks;
};

/// Returns naive, each trick alone, all but each one, all of them with tested numbers, all of them
/// by autotune.
std::vector<Variant> ablation_variants();

struct MeasureOptions {
  StepTime step;
  std::chrono::nanoseconds duration;
  /// Steps that aren't counted: a pass over the data, so that the cache is filled (and memory
  /// touched).
  std::int64_t warmup_steps = 0;
  std::shared_ptr<Executor> executor = nullptr;
  std::stop_token stop = {};
};

/// One row of the table.
struct MeasuredRun {
  std::string name;
  StepSummary summary = {};
  TuningReport tuning = {};  ///< report of the turn that counts
  /// The rate of each turn, if measured by turns; `summary` is the turn with the middle rate.
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

/// `runs`: those of ablation_variants().
std::vector<TrickGain> trick_gains(const std::vector<MeasuredRun>& runs);

/// Throws the pipeline's errors; cancelled when stopped.
MeasuredRun measure(const Slice& slice, const Variant& variant, const PipelineOptions& pipeline,
                    const MeasureOptions& options);

/// Number of turns of each pipeline.
inline constexpr int kTurns = 3;

struct TurnCallbacks {
  std::function<void(const Variant&, int turn)> on_begin = [](const Variant&, int) {
  };  ///< turn: from 1
  std::function<void(const MeasuredRun&)> on_row = [](const MeasuredRun&) {};
};

/// Returns the two ends of the comparison: naive, and all tricks by autotune.
std::vector<Variant> outer_variants();

/// Measures every pipeline for a third of the time, then all of them again. A slow phase of the
/// machine slows down all of them, and the turn in the middle counts.
std::vector<MeasuredRun> measure_by_turns(const Slice& slice, const std::vector<Variant>& variants,
                                          const PipelineOptions& pipeline, MeasureOptions options,
                                          const TurnCallbacks& callbacks);

}  // namespace infeed::tools
