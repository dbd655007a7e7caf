#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile_report.h"
#include "profile/recorded_run.h"

/// Why: the terminal, the JSON, the picture and the foreign formats must not differ in a figure or
/// a word, so what several of them say is computed and worded here.
namespace infeed::tools {

/// The five parts of a step, in the order in which they happen.
struct StepPart {
  std::string_view name;   ///< as in the JSON: "infeed_wait"
  std::string_view words;  ///< for a person: "wait for input"
  std::uint64_t RecordedStep::*of_step;
  std::uint64_t ProfileReport::*of_run;
};
inline constexpr std::array<StepPart, 5> kStepParts{{
    {"infeed_wait", "wait for input", &RecordedStep::infeed_wait_ns,
     &ProfileReport::infeed_wait_ns},
    {"transfer", "transfer", &RecordedStep::transfer_ns, &ProfileReport::transfer_ns},
    {"compute", "compute", &RecordedStep::compute_ns, &ProfileReport::compute_ns},
    {"all_reduce", "all-reduce", &RecordedStep::all_reduce_ns, &ProfileReport::all_reduce_ns},
    {"idle", "idle", &RecordedStep::idle_ns, &ProfileReport::idle_ns},
}};

/// All steps' time, as the report has it.
std::uint64_t steps_ns(const ProfileReport& report);
/// Returns the time until the last recorded thing ended.
std::uint64_t duration_ns(const RecordedRun& run);
/// Returns the time of all windows, which stages' times are parts of: a recording that outgrew its
/// limit has no windows of its older half.
std::uint64_t windows_ns(const RecordedRun& run);

/// The cost of late steps of one kind together.
struct Stall {
  Cause cause = Cause::unknown;
  int stage = -1;
  std::uint64_t steps = 0;
  std::uint64_t late_ns = 0;
};
/// The costliest first.
std::vector<Stall> stalls_of(const ProfileReport& report);

/// A stage's figures over the whole run.
struct StageTotals {
  std::uint64_t bytes = 0;
  double queue_fill = -1;  ///< 0..1, by time; -1: it has no queue
  std::uint64_t queue_elements_max = 0;
};
/// By stage id.
std::vector<StageTotals> stage_totals(const RecordedRun& run);

bool is_stage(const RecordedRun& run, int stage);
/// Returns a stage's label; "" for none.
std::string label_of(const RecordedRun& run, int stage);
/// Returns the stage that takes a stage's elements: its consumer, or the flat_map or interleave
/// that it is inside of; -1: the training step.
int taker_of(const RecordedRun& run, int stage);
/// Returns the stages from the training step's side to this one.
std::vector<int> chain_to(const RecordedRun& run, int stage);
/// Returns the call that made a step late; null: none is known.
const SlowCall* slow_call_of(const RecordedRun& run, const LateStep& late);

/// Returns the steps (as indices) in the order of time, without steps that begin before the
/// previous one has ended: on one track viewers take them for parts of each other, or refuse all.
std::vector<std::size_t> steps_in_line(const RecordedRun& run);

/// A late step's mark, with which the picture and the traces agree: the report's late steps by the
/// index of their step in RecordedRun::steps; -1 for those that are not late.
std::vector<int> late_index_by_step(const RecordedRun& run, const ProfileReport& report);

/// "train-00003.tfrecord, record 61 at byte 48,210"
std::string place_text(const RecordedPlace& place);
/// Says where a call's element came from, or why that isn't known; "": nothing.
std::string origin_text(const SlowCall& call);
/// The run in one line: program, host, device, how long, how much of it is kept, how it ended.
std::string run_text(const RecordedRun& run);
/// "Replayed on v3-32 (4 hosts), resnet50, batch 4,096: steps of 127 ms"
std::string replay_title(const ReplayedRun& replayed);
/// Returns the result of a replay. `steps_per_s`: the rate of the recorded run.
std::vector<std::string> replay_sentences(const ReplayedRun& replayed, double steps_per_s);
/// Returns the percentage of the steps' time; 0 without steps.
double percent_of_steps(const ProfileReport& report, std::uint64_t ns);

}  // namespace infeed::tools
