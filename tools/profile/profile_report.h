#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "profile/recorded_run.h"

/// Why: the terminal, the JSON and the HTML report give the same answer to "why is my accelerator
/// waiting?", since all are made from this report.
///
///     const RecordedRun run = read_recorded_run("run.profile");
///     const ProfileReport report = explain(run);
///     std::puts(report.verdict.c_str());
namespace infeed::tools {

/// A loop that has had no step for so long stands still, unless its steps are as long.
inline constexpr std::uint64_t kStandsStillNs = 2'000'000'000;

/// Why a step came late.
enum class Cause {
  slow_read,         ///< storage or a server took long for a record
  slow_element,      ///< a function computed long on an element
  waiting_function,  ///< a function waited: for a lock, a sleep, storage of its own
  quota,             ///< the CPU quota held the process back
  others_on_cores,   ///< other processes had the cores
  memory_limit,      ///< the memory limit left no room to read ahead
  tuner_change,      ///< the tuner was trying another setting
  starved,           ///< a stage is slower than the step, on average
  recompilation,     ///< the step said so by its name
  slow_step,         ///< the step itself took long; the input was there
  paused_consumer,   ///< the loop did something else between two steps; the input was there
  unknown,
};
/// "slow_read": as in the JSON.
std::string name_of(Cause cause);
/// "slow read": for a person.
std::string words_of(Cause cause);

struct LateStep {
  std::uint64_t step = 0;  ///< its number
  std::uint64_t begin_ns = 0;
  std::uint64_t length_ns = 0;
  std::uint64_t late_ns = 0;  ///< longer than the typical step
  Cause cause = Cause::unknown;
  int stage = -1;             ///< the stage to blame; -1: none
  int slow_call = -1;         ///< index into RecordedRun::slow_calls; -1: none
  std::string sentence = {};  ///< for a person
};

/// Where the time goes: a stage's share of the run.
struct StageShare {
  int stage = 0;
  std::uint64_t elements = 0;
  double elements_per_s = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t blocked_ns = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t full_ns = 0;
  std::uint64_t memory_bytes_peak = 0;
  int parallelism = 1;
  double elements_per_s_max = 0;  ///< the most it could hand over with what it has; 0: not known
  bool is_bottleneck = false;
};

/// The thing that is changed.
enum class ChangeKind {
  cores,      ///< twice as many, with twice the threads of each stage that has some
  others,     ///< no other processes on the cores
  storage,    ///< reading takes half as long
  waits,      ///< the waits of a stage's function take half as long
  slice,      ///< the training step takes half as long
  threads,    ///< more of them work for a stage
  cache,      ///< behind a stage
  slow_file,  ///< it is copied to where the others are
  prefetch,   ///< at the end of the pipeline
};

/// A change that was not made, and what the model says it would bring.
struct WhatIf {
  ChangeKind kind = ChangeKind::cores;
  int stage = -1;             ///< the stage that changes; -1: no single one
  int threads = 0;            ///< threads it would have; 0: they don't change
  std::string change = {};    ///< "twice the cores"
  std::string how = {};       ///< the option to write: "map[1]: {.parallelism = 4}"
  double predicted_gain = 0;  ///< 0.25: a quarter more elements a second
  std::optional<double> tried_gain = std::nullopt;  ///< with --try
  std::string note = {};
};

/// The recorded pipeline on another slice: what each batch took, replayed (replay.h).
struct ReplayedRun {
  std::string slice = {};
  std::string model = {};  ///< empty: with the step that was recorded
  int hosts = 1;
  std::int64_t batch = 0;  ///< global; 0: not known
  std::int64_t step_ns = 0;
  std::int64_t steps = 0;
  double steps_per_s = 0;
  double examples_per_s = 0;          ///< 0: not known
  double model_flop_utilisation = 0;  ///< 0 to 1, of the slice's peak; 0: no model was named
  double input_bound_percent = 0;     ///< with queues of 2 batches a host
  int deep_queue = 0;                 ///< batches a host, for the next one
  double deep_queue_input_bound_percent = 0;
  std::int64_t service_p50_ns = 0;  ///< a host's time for its share
  std::int64_t service_p99_ns = 0;
  std::int64_t slowest_host_p50_ns = 0;  ///< the slowest of all hosts, in the step in the middle
  /// The run replayed on one host with its own step, which should give the measured rate. 0: not
  /// known.
  double as_recorded_steps_per_s = 0;
  std::string note = {};
};

struct ProfileReport {
  std::string verdict = {};        ///< one sentence
  double input_bound_percent = 0;  ///< part of the steps' time, waiting for input
  double steps_per_s = 0;
  double elements_per_s = 0;
  std::uint64_t typical_step_ns = 0;
  std::uint64_t slowest_step_ns = 0;
  std::uint64_t infeed_wait_ns = 0;  ///< these five are sums over detailed_steps()
  std::uint64_t transfer_ns = 0;
  std::uint64_t compute_ns = 0;
  std::uint64_t all_reduce_ns = 0;
  std::uint64_t idle_ns = 0;
  int bottleneck = -1;                    ///< a stage's id
  std::vector<StageShare> stages = {};    ///< by stage id
  std::vector<LateStep> late_steps = {};  ///< by number
  /// Headroom: what the pipeline could give to an infinitely fast device, and the device could take
  /// from an infinitely fast pipeline; steps a second, 0: not known.
  double pipeline_steps_per_s_max = 0;
  double device_steps_per_s_max = 0;
  std::vector<WhatIf> what_ifs = {};      ///< the best one first
  std::vector<ReplayedRun> replays = {};  ///< that were asked for
  bool program_tries = false;             ///< the program was asked to try settings while it ran
};

/// Throws Error (cancelled) when somebody asked to stop.
ProfileReport explain(const RecordedRun& run, const std::stop_token& stop = {});

}  // namespace infeed::tools
