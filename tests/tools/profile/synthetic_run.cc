#include "tools/profile/synthetic_run.h"

#include <algorithm>
#include <array>

namespace infeed::test {
namespace {

using namespace tools;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kWindowNs = 500 * kMillisecond;
constexpr int kPrefetch = 0, kMap = 2, kRecords = 4;

std::vector<RecordedStage> stages_of(const SyntheticOptions& options) {
  const std::string map = "map '" + options.function + "'";
  std::vector<RecordedStage> stages = {{.id = 0, .name = "prefetch", .label = "prefetch"},
                                       {.id = 1, .name = "batch", .label = "batch"},
                                       {.id = 2, .name = "map", .label = map},
                                       {.id = 3, .name = "shuffle", .label = "shuffle"},
                                       {.id = 4, .name = "records", .label = "records"}};
  for (RecordedStage& stage : stages) {
    stage.consumer = stage.id - 1;
    stage.path = stage.id == 0
                     ? "prefetch"
                     : stages[static_cast<std::size_t>(stage.id) - 1].path + " < " + stage.label;
  }
  return stages;
}

/// The kind of the n-th late step.
Cause cause_of(std::uint64_t n) {
  constexpr std::array kCauses{Cause::slow_read, Cause::slow_element, Cause::slow_read,
                               Cause::recompilation, Cause::starved};
  return kCauses[n % kCauses.size()];
}

void add_late_step(const SyntheticOptions& options, SyntheticProfile& profile, RecordedStep& step,
                   std::uint64_t n) {
  const Cause cause = cause_of(n);
  const std::uint64_t late_ns = (30 + 10 * (n % 4)) * kMillisecond;
  LateStep late{.step = step.number, .begin_ns = step.begin_ns, .late_ns = late_ns, .cause = cause};
  if (cause == Cause::recompilation) {
    step.compute_ns += late_ns;
    step.name = "recompilation";
    late.sentence = "the step was compiled anew";
  } else {
    step.infeed_wait_ns += late_ns;
    late.stage = cause == Cause::slow_read ? kRecords : cause == Cause::starved ? kPrefetch : kMap;
    late.sentence = "it waited for input";
  }
  if (cause == Cause::slow_read || cause == Cause::slow_element) {
    SlowCall call{
        .begin_ns = step.begin_ns > 8 * kMillisecond ? step.begin_ns - 8 * kMillisecond : 0,
        .took_ns = late_ns + 10 * kMillisecond,
        .stage = late.stage,
        .position = step.number * 32,
        .thread = cause == Cause::slow_read ? 7 : 9};
    if (cause == Cause::slow_read) {
      call.waited_in = "file";
      call.place = RecordedPlace{
          .file = options.file, .record = 61 + n, .count = 1, .offset = 48'210 + 1000 * n};
    } else {
      call.cpu_ns = call.took_ns - kMillisecond;
      call.untraceable = "the order of shuffle isn't known here";
    }
    late.slow_call = static_cast<int>(profile.run.slow_calls.size());
    profile.run.slow_calls.push_back(call);
  }
  late.length_ns = step.length_ns();
  profile.report.late_steps.push_back(std::move(late));
}

void add_windows(RecordedRun& run, std::uint64_t end_ns) {
  for (std::uint64_t begin = 0; begin < end_ns; begin += kWindowNs) {
    const std::uint64_t length = std::min(kWindowNs, end_ns - begin);
    const std::uint64_t n = begin / kWindowNs;
    RecordedWindow window{.begin_ns = begin,
                          .length_ns = length,
                          .elements = length / (20 * kMillisecond),
                          .consumer_wait_ns = length / 5,
                          .process_cpu_ns = length * 3 / 2,
                          .cores = 2,
                          .cores_of_others = 0.1,
                          .memory_limit_bytes = 600 << 20};
    for (const RecordedStage& stage : run.stages) {
      const bool is_queue = stage.id == kPrefetch || stage.id == 3;
      StageWindow of{.stage = stage.id,
                     .elements = window.elements * (stage.id < 2 ? 1 : 32),
                     .cpu_ns = length * (stage.id == kMap ? 18 : 1) / 20,
                     .blocked_ns = stage.id == kRecords ? length / 4 : 0,
                     .wait_ns = stage.id == kPrefetch ? length / 5 : 0,
                     .full_ns = stage.id == 3 ? length / 2 : 0,
                     .parallelism = stage.id != kMap      ? 1
                                    : 10 * begin < end_ns ? 2
                                    : 2 * begin < end_ns  ? 4
                                                          : 3};
      of.bytes = of.elements * (stage.id < 2 ? 32 * 784 : 784);
      of.queue_elements_max = is_queue ? (stage.id == 3 ? 10'000 : 4) : 0;
      of.buffered_elements = stage.id == 3 ? 9'000 : is_queue ? n % 3 : 0;
      of.buffered_bytes =
          is_queue ? (stage.id == 3 ? std::min<std::uint64_t>(9'000, 3'000 * (n + 1)) * 784
                                    : n % 3 * 32 * 784)
          : stage.id == kRecords ? 8 << 20
                                 : 64 << 10;
      window.memory_bytes += of.buffered_bytes;
      window.stages.push_back(of);
    }
    run.windows.push_back(std::move(window));
  }
}

void add_shares(SyntheticProfile& profile, double seconds) {
  for (const RecordedStage& stage : profile.run.stages) {
    StageShare share{.stage = stage.id};
    for (const RecordedWindow& window : profile.run.windows) {
      const StageWindow& of = window.stages[static_cast<std::size_t>(stage.id)];
      share.elements += of.elements;
      share.cpu_ns += of.cpu_ns;
      share.blocked_ns += of.blocked_ns;
      share.wait_ns += of.wait_ns;
      share.full_ns += of.full_ns;
      share.memory_bytes_peak = std::max(share.memory_bytes_peak, of.buffered_bytes);
      share.parallelism = of.parallelism;
    }
    share.elements_per_s = seconds > 0 ? static_cast<double>(share.elements) / seconds : 0;
    share.elements_per_s_max = share.elements_per_s * (stage.id == kMap ? 1.1 : 4);
    share.is_bottleneck = stage.id == kMap;
    profile.report.stages.push_back(share);
  }
}

}  // namespace

SyntheticProfile synthetic_profile(const SyntheticOptions& options) {
  SyntheticProfile profile;
  RecordedRun& run = profile.run;
  ProfileReport& report = profile.report;
  run = {.path = "run.profile",
         .program = options.program,
         .host = "host-1",
         .process = 4242,
         .started_unix_s = 1'700'000'000,
         .cores = 2,
         .has_steps = true,
         .end = "end of data"};
  run.stages = stages_of(options);
  std::uint64_t now = kMillisecond;
  for (std::uint64_t n = 0; n < options.steps; ++n) {
    RecordedStep step{.number = options.first_step + n,
                      .begin_ns = now,
                      .infeed_wait_ns = 4 * kMillisecond,
                      .transfer_ns = kMillisecond,
                      .compute_ns = 12 * kMillisecond,
                      .all_reduce_ns = 2 * kMillisecond,
                      .idle_ns = kMillisecond};
    if (options.late_every > 0 && n % options.late_every == options.late_every / 2) {
      add_late_step(options, profile, step, n / options.late_every);
    }
    report.infeed_wait_ns += step.infeed_wait_ns;
    report.transfer_ns += step.transfer_ns;
    report.compute_ns += step.compute_ns;
    report.all_reduce_ns += step.all_reduce_ns;
    report.idle_ns += step.idle_ns;
    report.slowest_step_ns = std::max(report.slowest_step_ns, step.length_ns());
    now = step.end_ns();
    run.steps.push_back(std::move(step));
  }
  const std::uint64_t end = options.steps == 0 ? 0 : now;
  add_windows(run, end);
  const double seconds = static_cast<double>(end) / 1e9;
  if (end > 0) {
    run.tuning = {{.at_ns = end / 10, .text = "map: parallelism 2 -> 4"},
                  {.at_ns = end / 3, .text = "prefetch: 2 -> 4 elements"},
                  {.at_ns = end / 2, .text = "map: parallelism 4 -> 3, it brought nothing"}};
    run.call_histograms.assign(5, {});
    run.call_histograms[kMap] = {0, 0, 5, 1000, 20};
  }
  add_shares(profile, seconds);
  if (end == 0) {
    report.verdict = "No step was recorded, so there is nothing to explain.";
    return profile;
  }
  const std::uint64_t all = report.infeed_wait_ns + report.transfer_ns + report.compute_ns +
                            report.all_reduce_ns + report.idle_ns;
  report.input_bound_percent =
      100 * static_cast<double>(report.infeed_wait_ns) / static_cast<double>(all);
  report.verdict = "HIGHLY input-bound: the steps wait for map '" + options.function +
                   "', which has 2 of the 2 cores; four threads would end most of it.";
  report.steps_per_s = static_cast<double>(options.steps) / seconds;
  report.elements_per_s = report.steps_per_s;
  report.typical_step_ns = 20 * kMillisecond;
  report.bottleneck = kMap;
  report.pipeline_steps_per_s_max = 55;
  report.device_steps_per_s_max = 62.5;
  report.what_ifs = {{.change = "twice the cores",
                      .how = "map '" + options.function + "': {.parallelism = 4}",
                      .predicted_gain = 0.22,
                      .tried_gain = 0.19},
                     {.change = "cache behind the map",
                      .how = "| cache() after map",
                      .predicted_gain = 0.21,
                      .note = "314 MB of memory"},
                     {.change = "storage twice as fast", .how = "", .predicted_gain = 0.02}};
  return profile;
}

}  // namespace infeed::test
