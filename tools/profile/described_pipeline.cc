#include "profile/described_pipeline.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <utility>

#include <infeed/error.h>
#include <infeed/infeed.h>
#include <infeed/pipeline/step_timer.h>
#include <infeed/records/detail/json_depth.h>
#include <infeed/records/detail/nearest_names.h>
#include <infeed/records/inferred_schema.h>

#include "cli/side_file.h"
#include "cli/stop_on_signal.h"

namespace infeed::tools {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr std::int64_t kCountMax = std::int64_t{1} << 40;
constexpr std::int64_t kStepUsMax = 60'000'000;

/// The members of an object, each asked for once; what nobody asked for is a mistake.
class Members {
 public:
  Members(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) throw refused("is no object");
  }

  const Json* find(const char* name) {
    names_.emplace_back(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  std::optional<std::int64_t> count(const char* name, std::int64_t least,
                                    std::int64_t most = kCountMax) {
    const Json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_integer() || *value < least || *value > most) {
      throw refused(fmt::format("has \"{}\": {}; give a whole number from {} to {}", name,
                                value->dump(), least, most));
    }
    return value->get<std::int64_t>();
  }
  bool flag(const char* name) {
    const Json* const value = find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) {
      throw refused(fmt::format("has \"{}\": {}; give true or false", name, value->dump()));
    }
    return value->get<bool>();
  }
  void check_all_known() const {
    for (const auto& [name, value] : object_.items()) {
      if (std::find(names_.begin(), names_.end(), name) != names_.end()) continue;
      throw refused(
          fmt::format("has a member \"{}\"; there are {}", name, detail::quoted_names(names_)));
    }
  }
  Error refused(const std::string& why) const {
    return Error(ErrorCode::invalid_argument, fmt::format("the pipeline{} {}", where_, why));
  }

 private:
  const Json& object_;
  const std::string where_;
  std::vector<std::string> names_;
};

std::vector<std::string> file_list(Members& members) {
  const Json* const list = members.find("records");
  std::vector<std::string> names;
  if (list != nullptr && list->is_string()) names.push_back(list->get<std::string>());
  if (list != nullptr && list->is_array()) {
    for (const Json& name : *list) {
      if (!name.is_string()) throw members.refused("has \"records\" that are no strings");
      names.push_back(name.get<std::string>());
    }
  }
  if (names.empty()) {
    throw members.refused("has no \"records\"; give a path, a pattern or a list of them");
  }
  return names;
}

DescribedPipeline described(const Json& json) {
  Members members(json, "");
  DescribedPipeline pipeline;
  pipeline.records = file_list(members);
  if (const Json* const value = members.find("interleave")) {
    Members inner(*value, "'s interleave");
    pipeline.interleave = {inner.count("cycle_length", 1).value_or(4),
                           inner.count("block_length", 1).value_or(1)};
    inner.check_all_known();
  }
  if (const Json* const value = members.find("shuffle")) {
    Members inner(*value, "'s shuffle");
    const auto buffer = inner.count("buffer", 1);
    if (!buffer) throw inner.refused("has no \"buffer\"");
    pipeline.shuffle = {*buffer, inner.count("seed", 0)};
    inner.check_all_known();
  }
  if (const Json* const value = members.find("schema")) pipeline.schema = value->dump();
  pipeline.batch = members.count("batch", 1).value_or(128);
  pipeline.threads = members.count("threads", 1);
  pipeline.cache = members.flag("cache");
  pipeline.prefetch = members.flag("prefetch");
  pipeline.repeat = members.count("repeat", 1).value_or(-1);
  pipeline.step_us = members.count("step_us", 0, kStepUsMax).value_or(0);
  members.check_all_known();
  return pipeline;
}

}  // namespace

DescribedPipeline DescribedPipeline::parse(const std::string& json, const std::string& file) {
  if (detail::exceeds_json_limits(json)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the pipeline {}", detail::json_limits_text()))
        .at_file(file);
  }
  try {
    return described(Json::parse(json));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the pipeline is no JSON: {}", error.what()))
        .at_file(file);
  } catch (Error& error) {
    throw error.at_file(file);
  }
}

Dataset<ColumnBatch> DescribedPipeline::dataset() const {
  const std::vector<std::string> names = match_record_files(records);
  const ColumnSchema columns =
      schema.empty() ? ColumnSchema::from(infer_schema(names)) : ColumnSchema::from_json(schema);
  const std::int64_t wanted = threads.value_or(autotune);
  Dataset<Record> input =
      interleave
          ? slices(names) |
                infeed::interleave([](const std::string& file) { return infeed::records(file); },
                                   {.cycle_length = interleave->cycle_length,
                                    .block_length = interleave->block_length,
                                    .parallelism = wanted})
          : infeed::records(names);
  if (cache) input = input | infeed::cache();
  if (shuffle) input = input | infeed::shuffle({.buffer = shuffle->buffer, .seed = shuffle->seed});
  input = input | infeed::repeat(repeat);
  Dataset<ColumnBatch> batches = input | parse_columns(columns, batch, {.parallelism = wanted});
  return prefetch ? batches | infeed::prefetch() : batches;
}

MeasuredRate run_described(const DescribedPipeline& pipeline, double seconds,
                           const std::string& recording, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  auto iterator = pipeline.dataset().iterate({.stop = stop, .recording = {.file = recording}});
  if (const RecordingStatus status = iterator.recording(); !status.is_on) {
    throw Error(ErrorCode::failed_precondition, status.problem);
  }
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
  return {timer.steps(), static_cast<double>(timer.steps()) / took.count()};
}

}  // namespace infeed::tools
