#include "tools/profile/made_recording.h"

#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include <infeed/device/virtual_run.h>
#include <infeed/pipeline/philox.h>

namespace infeed::test {

using namespace tools;

RecordedRun recording_of(const Truth& truth) {
  RecordedRun run;
  run.path = "made.profile";
  run.has_steps = true;
  const bool is_ahead = truth.depth > 0;
  for (const char* const name : {"prefetch", "batch", "map", "records"}) {
    if (!is_ahead && run.stages.empty() && std::string(name) == "prefetch") continue;
    const int id = static_cast<int>(run.stages.size());
    run.stages.push_back({.id = id,
                          .name = name,
                          .label = name,
                          .consumer = id - 1,
                          .runs_ahead = id == 0 && is_ahead});
  }
  const auto count = static_cast<std::int64_t>(truth.service_ps.size());
  const auto on_step = [&](std::span<const StepEvent> step) {
    const StepEvent& event = step[0];
    run.steps.push_back({.number = static_cast<std::uint64_t>(event.step),
                         .begin_ns = static_cast<std::uint64_t>(event.begin_ps / 1000),
                         .infeed_wait_ns = static_cast<std::uint64_t>(event.infeed_wait_ps / 1000),
                         .compute_ns = static_cast<std::uint64_t>(event.compute_ps / 1000)});
    const bool is_last = event.step + 1 == count;
    if ((event.step + 1) % truth.steps_per_window != 0 && !is_last) return;
    const auto first =
        static_cast<std::size_t>(event.step / truth.steps_per_window * truth.steps_per_window);
    const auto end = static_cast<std::size_t>(event.step + 1);
    const std::uint64_t begin_ns =
        run.windows.empty() ? 0 : run.windows.back().begin_ns + run.windows.back().length_ns;
    RecordedWindow window{.begin_ns = begin_ns,
                          .length_ns = static_cast<std::uint64_t>(event.end_ps() / 1000) - begin_ns,
                          .elements = end - first,
                          .cores = 4};
    std::int64_t work_ps = 0;
    for (std::size_t i = first; i < end; ++i) work_ps += truth.service_ps[i];
    for (const RecordedStage& stage : run.stages) {
      const bool is_map = stage.name == "map";
      const bool makes_examples = is_map || stage.name == "records";
      window.stages.push_back(
          {.stage = stage.id,
           .elements = window.elements * (makes_examples ? 32 : 1),
           .bytes = window.elements * 3200,
           .cpu_ns = is_map ? static_cast<std::uint64_t>(work_ps / 1000) : 0,
           .queue_elements_max = static_cast<std::uint64_t>(stage.runs_ahead ? truth.depth : 0)});
    }
    run.windows.push_back(std::move(window));
  };
  run_virtual(Slice::parse("v3-8"), ServiceTimes::in_order(truth.service_ps),
              {.batches = {{.step = {.compute_ps = truth.step_ps}}},
               .steps = count,
               .queue_depth = truth.depth,
               .on_step = on_step});
  return run;
}

RecordedRun parallel_recording_of(const Truth& truth, int threads) {
  RecordedRun run = recording_of(truth);
  for (RecordedStage& stage : run.stages) stage.runs_ahead |= stage.name == "map";
  for (RecordedWindow& window : run.windows) {
    window.cores = threads;
    for (StageWindow& row : window.stages) {
      if (run.stages[static_cast<std::size_t>(row.stage)].name != "map") continue;
      row.cpu_ns *= static_cast<std::uint64_t>(threads);
      row.parallelism = threads;
    }
  }
  run.cores = threads;
  return run;
}

std::string recording_text(const RecordedRun& run) {
  using OrderedJson = nlohmann::ordered_json;
  const OrderedJson header = {{"process", run.process},
                              {"program", run.program},
                              {"host", run.host},
                              {"started_unix_s", run.started_unix_s},
                              {"slow_after_ns", run.slow_after_ns}};
  // A recording is known by its first bytes, which have a space.
  std::string text = "{\"infeed_recording\": 1," + header.dump().substr(1) + "\n";
  OrderedJson stages = OrderedJson::array();
  for (const RecordedStage& stage : run.stages) {
    stages.push_back({{"id", stage.id},
                      {"name", stage.name},
                      {"label", stage.label},
                      {"path", stage.path},
                      {"consumer", stage.consumer},
                      {"inside", stage.inside},
                      {"runs_ahead", stage.runs_ahead}});
  }
  text += OrderedJson{{"stages", stages}}.dump() + "\n";
  for (const RecordedWindow& window : run.windows) {
    OrderedJson rows = OrderedJson::array();
    for (const StageWindow& row : window.stages) {
      rows.push_back({row.stage, row.elements, row.bytes, row.cpu_ns, row.blocked_ns, row.wait_ns,
                      row.full_ns, row.buffered_elements, row.buffered_bytes,
                      row.queue_elements_max, row.parallelism});
    }
    const OrderedJson entry = {{"begin_ns", window.begin_ns},
                               {"length_ns", window.length_ns},
                               {"elements", window.elements},
                               {"consumer_wait_ns", window.consumer_wait_ns},
                               {"process_cpu_ns", window.process_cpu_ns},
                               {"throttled_ns", window.throttled_ns},
                               {"cores", window.cores},
                               {"cores_of_others", window.cores_of_others},
                               {"memory_bytes", window.memory_bytes},
                               {"memory_limit_bytes", window.memory_limit_bytes},
                               {"stages", rows}};
    text += OrderedJson{{"window", entry}}.dump() + "\n";
  }
  for (const RecordedStep& step : run.steps) {
    const OrderedJson row = {step.number,      step.begin_ns,   step.infeed_wait_ns,
                             step.transfer_ns, step.compute_ns, step.all_reduce_ns,
                             step.idle_ns,     step.elements};
    text += OrderedJson{{"steps", OrderedJson::array({row})}, {"measured", run.has_steps}}.dump() +
            "\n";
  }
  const OrderedJson end = {{"at_ns", run.end_ns()}, {"why", "end of data"}, {"dropped_events", 0}};
  return text + OrderedJson{{"end", end}}.dump() + "\n";
}

std::vector<std::int64_t> drawn_times(std::size_t count, std::int64_t least_ps,
                                      std::int64_t most_ps) {
  Philox words(7, 0);
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < count; ++i) {
    times.push_back(least_ps + static_cast<std::int64_t>(words()) % (most_ps - least_ps) /
                                   1'000'000 * 1'000'000);
  }
  return times;
}

}  // namespace infeed::test
