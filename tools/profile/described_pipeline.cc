#include "profile/described_pipeline.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/infeed.h>
#include <infeed/pipeline/step_timer.h>
#include <infeed/records/detail/json_depth.h>
#include <infeed/records/detail/nearest_names.h>

#include "cli/stop_on_signal.h"

namespace infeed::tools {
namespace {

using describe::Description;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kStepUsMax = 60'000'000;

Description described(const Json& json) {
  return Description::from_json(
      json.dump(), std::make_shared<const describe::StageTable>(describe::native_stages()));
}

/// Refuses names that are neither the description's nor "step_us".
void check_members(const Json& json) {
  static const std::vector<std::string> kNames = {"version", "stages", "step_us"};
  if (!json.is_object()) return;
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(kNames, name) != kNames.end()) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the pipeline has no option '{}' ($.{}){}; there are {}", name, name,
                            detail::did_you_mean(detail::names_by_distance(kNames, name), name),
                            fmt::join(kNames, ", ")));
  }
}

/// Takes "step_us" out of the object.
std::int64_t take_step_us(Json& json) {
  if (!json.is_object() || !json.contains("step_us")) return 0;
  const Json value = json["step_us"];
  json.erase("step_us");
  if (!value.is_number_integer() || value < 0 || value > kStepUsMax) {
    describe::refuse_value("$.step_us", describe::JsonText(value.dump()),
                           fmt::format("a whole number from 0 to {}", kStepUsMax));
  }
  return value.get<std::int64_t>();
}

/// Returns the pipeline with other stages, unless they are the same.
template <class Change>
std::optional<DescribedPipeline> changed(const DescribedPipeline& pipeline, const Change& change) {
  Json json = Json::parse(pipeline.description.to_json());
  change(json["stages"]);
  DescribedPipeline other{described(json), pipeline.step_us};
  if (other.description == pipeline.description) return std::nullopt;
  return other;
}

}  // namespace

DescribedPipeline DescribedPipeline::parse(const std::string& json, const std::string& file) {
  try {
    if (detail::exceeds_json_limits(json)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the pipeline {}", detail::json_limits_text()));
    }
    Json members = Json::parse(json);
    detail::refuse_lossy_json(json, "the pipeline");
    check_members(members);
    const std::int64_t step_us = take_step_us(members);
    DescribedPipeline pipeline{described(members), step_us};
    pipeline.dataset();
    return pipeline;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the pipeline is no JSON: {}", error.what()))
        .at_file(file);
  } catch (Error& error) {
    if (!error.file().empty()) throw;
    throw error.at_file(file);
  }
}

const Dataset<ColumnBatch>& DescribedPipeline::dataset() const {
  return description.elements().batches("a training step");
}

std::optional<DescribedPipeline> DescribedPipeline::with_cache() const {
  return changed(*this, [](Json& stages) {
    const auto is = [&](std::size_t i, const char* name) {
      return i < stages.size() && stages[i]["stage"] == name;
    };
    const std::size_t place = is(1, "interleave") ? 2 : 1;
    if (!is(place, "cache")) {
      stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(place), Json{{"stage", "cache"}});
    }
  });
}

std::optional<DescribedPipeline> DescribedPipeline::with_prefetch() const {
  return changed(*this, [](Json& stages) {
    if (stages.back()["stage"] != "prefetch") stages.push_back(Json{{"stage", "prefetch"}});
  });
}

std::optional<DescribedPipeline> DescribedPipeline::with_tuned_threads() const {
  return changed(*this, [](Json& stages) {
    for (Json& stage : stages) stage.erase("parallelism");
  });
}

MeasuredRate run_described(const DescribedPipeline& pipeline, double seconds,
                           const std::string& recording, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  auto iterator = pipeline.dataset().iterate({.stop = stop, .recording = {.file = recording}});
  const auto require_recorded = [&iterator] {
    const RecordingStatus status = iterator.recording();
    // A run that can't be shown (INFEED_TOP) is recorded nevertheless.
    if (!status.file.empty()) return;
    throw Error(ErrorCode::failed_precondition, "the run can't be recorded: " + status.problem);
  };
  require_recorded();
  const auto step = std::chrono::microseconds(pipeline.step_us);
  StepTimer timer(iterator);
  const Clock::time_point begin = Clock::now();
  const auto end =
      begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (Clock::now() < end && iterator.next()) {
    timer.begin();
    if (sleep_until(Clock::now() + step, stop)) timer.end();  // else next() says that it is stopped
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  require_recorded();  // such as a disk that is full now
  return {timer.steps(), static_cast<double>(timer.steps()) / took.count()};
}

}  // namespace infeed::tools
