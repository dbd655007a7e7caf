#include "profile/outputs/profile_json.h"

#include <algorithm>
#include <cmath>

#include "cli/json_text.h"
#include "cli/stop_on_signal.h"
#include "profile/outputs/profile_figures.h"

namespace infeed::tools {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::string_view kBeforeJson = "the profile was written as JSON";

/// Returns null for an unknown figure, not a zero that a script takes for a figure.
OrderedJson known(double value) { return value > 0 ? OrderedJson(value) : OrderedJson(nullptr); }
OrderedJson known_text(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}
OrderedJson stage_id(const RecordedRun& run, int stage) {
  return is_stage(run, stage) ? OrderedJson(stage) : OrderedJson(nullptr);
}

OrderedJson json_of_run(const RecordedRun& run) {
  return {{"path", run.path},
          {"recording_version", run.version},
          {"program", run.program},
          {"host", run.host},
          {"process", run.process},
          {"started_unix_s", run.started_unix_s},
          {"duration_ns", duration_ns(run)},
          {"detail_from_ns", run.detail_from_ns},
          {"windows_ns", windows_ns(run)},
          {"cores", run.cores},
          {"has_steps", run.has_steps},
          {"end", known_text(run.end)},
          {"is_cut", run.is_cut},
          {"dropped_events", run.dropped_events}};
}

OrderedJson json_of_steps(const RecordedRun& run, const ProfileReport& report) {
  std::vector<std::uint64_t> lengths;
  for (const RecordedStep& step : run.detailed_steps()) lengths.push_back(step.length_ns());
  std::sort(lengths.begin(), lengths.end());
  const auto percentile = [&](double share) -> OrderedJson {
    if (lengths.empty()) return nullptr;
    const double rank = std::ceil(share * static_cast<double>(lengths.size()));
    return lengths[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
  };
  OrderedJson steps = {{"count", run.steps_taken()},
                       {"steps_per_s", known(report.steps_per_s)},
                       {"elements_per_s", report.elements_per_s},
                       {"total_ns", steps_ns(report)}};
  for (const StepPart& part : kStepParts) {
    steps[std::string(part.name) + "_ns"] = report.*part.of_run;
  }
  steps["typical_ns"] =
      lengths.empty() ? OrderedJson(nullptr) : OrderedJson(report.typical_step_ns);
  steps["slowest_ns"] =
      run.steps.empty() ? OrderedJson(nullptr) : OrderedJson(report.slowest_step_ns);
  steps["p50_ns"] = percentile(0.5);
  steps["p90_ns"] = percentile(0.9);
  steps["p99_ns"] = percentile(0.99);
  return steps;
}

OrderedJson json_of_histogram(const RecordedRun& run, int stage) {
  OrderedJson bins = OrderedJson::array();
  const auto id = static_cast<std::size_t>(stage);
  if (id >= run.call_histograms.size()) return bins;
  const std::vector<std::uint64_t>& counts = run.call_histograms[id];
  for (std::size_t i = 0; i < std::min<std::size_t>(counts.size(), 63); ++i) {
    if (counts[i] == 0) continue;
    bins.push_back({{"from_ns", std::uint64_t{1} << i},
                    {"to_ns", std::uint64_t{2} << i},
                    {"calls", counts[i]}});
  }
  return bins;
}

OrderedJson json_of_stages(const RecordedRun& run, const ProfileReport& report) {
  OrderedJson stages = OrderedJson::array();
  const std::vector<StageTotals> totals = stage_totals(run);
  for (const StageShare& share : report.stages) {
    if (!is_stage(run, share.stage)) continue;
    const auto id = static_cast<std::size_t>(share.stage);
    const RecordedStage& stage = run.stages[id];
    stages.push_back(
        {{"id", share.stage},
         {"name", stage.name},
         {"label", label_of(run, share.stage)},
         {"path", stage.path},
         {"consumer", stage_id(run, stage.consumer)},
         {"inside", stage_id(run, stage.inside)},
         {"elements", share.elements},
         {"elements_per_s", share.elements_per_s},
         {"elements_per_s_max", known(share.elements_per_s_max)},
         {"bytes", totals[id].bytes},
         {"cpu_ns", share.cpu_ns},
         {"blocked_ns", share.blocked_ns},
         {"wait_ns", share.wait_ns},
         {"full_ns", share.full_ns},
         {"parallelism", share.parallelism},
         {"queue_elements_max", totals[id].queue_elements_max},
         {"queue_fill",
          totals[id].queue_fill < 0 ? OrderedJson(nullptr) : OrderedJson(totals[id].queue_fill)},
         {"memory_bytes_peak", share.memory_bytes_peak},
         {"is_bottleneck", share.is_bottleneck},
         {"call_histogram", json_of_histogram(run, share.stage)}});
  }
  return stages;
}

OrderedJson json_of_place(const std::optional<RecordedPlace>& place) {
  if (!place) return nullptr;
  return {{"file", place->file},
          {"record", place->record},
          {"records", place->count},
          {"offset_bytes", place->offset ? OrderedJson(*place->offset) : OrderedJson(nullptr)}};
}

OrderedJson json_of_call(const RecordedRun& run, const SlowCall& call) {
  return {{"begin_ns", call.begin_ns},
          {"took_ns", call.took_ns},
          {"cpu_ns", call.cpu_ns},
          {"preempted_ns", call.preempted_ns},
          {"stage", stage_id(run, call.stage)},
          {"position", call.position},
          {"elements", call.count},
          {"pass", call.pass},
          {"thread", call.thread},
          {"waited_in", known_text(call.waited_in)},
          {"place", json_of_place(call.place)},
          {"untraceable", known_text(call.untraceable)}};
}

OrderedJson json_of_late_steps(const RecordedRun& run, const ProfileReport& report,
                               const std::stop_token& stop) {
  OrderedJson steps = OrderedJson::array();
  for (const LateStep& late : report.late_steps) {
    throw_if_stopped(stop, kBeforeJson);
    const SlowCall* const call = slow_call_of(run, late);
    steps.push_back(
        {{"step", late.step},
         {"begin_ns", late.begin_ns},
         {"length_ns", late.length_ns},
         {"late_ns", late.late_ns},
         {"cause", name_of(late.cause)},
         {"stage", stage_id(run, late.stage)},
         {"slow_call", call == nullptr ? OrderedJson(nullptr) : OrderedJson(late.slow_call)},
         {"place", call == nullptr ? OrderedJson(nullptr) : json_of_place(call->place)},
         {"untraceable", call == nullptr ? OrderedJson(nullptr) : known_text(call->untraceable)},
         {"sentence", late.sentence}});
  }
  return steps;
}

OrderedJson json_of_windows(const RecordedRun& run, const std::stop_token& stop) {
  OrderedJson windows = OrderedJson::array();
  for (const RecordedWindow& window : run.windows) {
    throw_if_stopped(stop, kBeforeJson);
    OrderedJson stages = OrderedJson::array();
    for (const StageWindow& stage : window.stages) {
      stages.push_back({{"stage", stage_id(run, stage.stage)},
                        {"elements", stage.elements},
                        {"bytes", stage.bytes},
                        {"cpu_ns", stage.cpu_ns},
                        {"blocked_ns", stage.blocked_ns},
                        {"wait_ns", stage.wait_ns},
                        {"full_ns", stage.full_ns},
                        {"buffered_elements", stage.buffered_elements},
                        {"buffered_bytes", stage.buffered_bytes},
                        {"queue_elements_max", stage.queue_elements_max},
                        {"parallelism", stage.parallelism}});
    }
    windows.push_back({{"begin_ns", window.begin_ns},
                       {"length_ns", window.length_ns},
                       {"elements", window.elements},
                       {"consumer_wait_ns", window.consumer_wait_ns},
                       {"process_cpu_ns", window.process_cpu_ns},
                       {"throttled_ns", window.throttled_ns},
                       {"cores", window.cores},
                       {"cores_of_others", window.cores_of_others},
                       {"memory_bytes", window.memory_bytes},
                       {"memory_limit_bytes", window.memory_limit_bytes == 0
                                                  ? OrderedJson(nullptr)
                                                  : OrderedJson(window.memory_limit_bytes)},
                       {"memory_refusals", window.memory_refusals},
                       {"stages", std::move(stages)}});
  }
  return windows;
}

}  // namespace

nlohmann::ordered_json profile_json(const RecordedRun& run, const ProfileReport& report,
                                    const std::stop_token& stop) {
  OrderedJson json = {
      {"schema", "infeed.profile"},
      {"schema_version", kProfileSchemaVersion},
      {"infeed_version", INFEED_VERSION},
      {"run", json_of_run(run)},
      {"verdict", report.verdict},
      {"input_bound_percent",
       steps_ns(report) == 0 ? OrderedJson(nullptr) : OrderedJson(report.input_bound_percent)},
      {"steps", json_of_steps(run, report)},
      {"bottleneck", stage_id(run, report.bottleneck)},
      {"stages", json_of_stages(run, report)},
      {"late_steps", json_of_late_steps(run, report, stop)}};
  json["stalls"] = OrderedJson::array();
  for (const Stall& stall : stalls_of(report)) {
    json["stalls"].push_back({{"cause", name_of(stall.cause)},
                              {"stage", stage_id(run, stall.stage)},
                              {"steps", stall.steps},
                              {"late_ns", stall.late_ns}});
  }
  json["headroom"] = {{"pipeline_steps_per_s_max", known(report.pipeline_steps_per_s_max)},
                      {"device_steps_per_s_max", known(report.device_steps_per_s_max)}};
  json["what_ifs"] = OrderedJson::array();
  for (const WhatIf& what_if : report.what_ifs) {
    json["what_ifs"].push_back({{"change", what_if.change},
                                {"how", what_if.how},
                                {"predicted_gain", what_if.predicted_gain},
                                {"tried_gain", what_if.tried_gain ? OrderedJson(*what_if.tried_gain)
                                                                  : OrderedJson(nullptr)},
                                {"note", known_text(what_if.note)}});
  }
  json["replays"] = OrderedJson::array();
  for (const ReplayedRun& replayed : report.replays) {
    json["replays"].push_back(
        {{"slice", replayed.slice},
         {"hosts", replayed.hosts},
         {"model", known_text(replayed.model)},
         {"batch", replayed.batch > 0 ? OrderedJson(replayed.batch) : OrderedJson(nullptr)},
         {"step_ns", replayed.step_ns},
         {"steps", replayed.steps},
         {"steps_per_s", replayed.steps_per_s},
         {"examples_per_s", known(replayed.examples_per_s)},
         {"model_flop_utilisation", known(replayed.model_flop_utilisation)},
         {"input_bound_percent", replayed.input_bound_percent},
         {"deep_queue", replayed.deep_queue},
         {"deep_queue_input_bound_percent", replayed.deep_queue_input_bound_percent},
         {"service_p50_ns", replayed.service_p50_ns},
         {"service_p99_ns", replayed.service_p99_ns},
         {"slowest_host_p50_ns", replayed.slowest_host_p50_ns},
         {"as_recorded_steps_per_s", known(replayed.as_recorded_steps_per_s)},
         {"note", known_text(replayed.note)}});
  }
  json["slow_calls"] = OrderedJson::array();
  for (const SlowCall& call : run.slow_calls) {
    throw_if_stopped(stop, kBeforeJson);
    json["slow_calls"].push_back(json_of_call(run, call));
  }
  json["windows"] = json_of_windows(run, stop);
  json["tuning"] = OrderedJson::array();
  for (const RecordedTuning& tuning : run.tuning) {
    json["tuning"].push_back({{"at_ns", tuning.at_ns}, {"text", tuning.text}});
  }
  return json;
}

std::string profile_json_text(const RecordedRun& run, const ProfileReport& report,
                              const std::stop_token& stop) {
  return json_text(profile_json(run, report, stop), stop);
}

}  // namespace infeed::tools
