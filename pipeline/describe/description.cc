#include "infeed/describe/description.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "describe/json.h"
#include "engine/seeds/signature.h"
#include "infeed/detail/format_version.h"
#include "infeed/error.h"
#include "infeed/records/detail/json_depth.h"
#include "infeed/records/detail/nearest_names.h"

namespace infeed::describe {
namespace {

constexpr std::uint32_t kVersion = 1;

[[noreturn]] void refuse(std::string message) {
  throw Error(ErrorCode::invalid_argument, std::move(message));
}

void check_keys(const Json& object, const std::vector<std::string>& known, const std::string& place,
                std::string_view owner) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto nearest = detail::names_by_distance(known, key);
    refuse(fmt::format("{} has no option '{}' ({}){}; there are {}", owner, key, place + "." + key,
                       detail::did_you_mean(nearest, key), fmt::join(known, ", ")));
  }
}

std::vector<std::string> option_names(const StageKind& kind) {
  std::vector<std::string> names;
  for (const StageOption& option : kind.options) names.push_back(option.name);
  return names;
}

/// Reads the options into `values`, and returns them in the one form: in the table's order, without
/// those that have their default.
Json read_options(const StageKind& kind, const Json& options, void* values,
                  const std::string& place) {
  check_keys(options, option_names(kind), place, kind.name);
  Json read = Json::object();
  for (const StageOption& option : kind.options) {
    if (!options.contains(option.name)) {
      if (option.is_required) refuse(fmt::format("{} has no \"{}\"", place, option.name));
      continue;
    }
    option.read(values, text_of(options[option.name]), place + "." + option.name);
    const JsonText value = option.write(values);
    if (option.is_required || value != option.preset) read[option.name] = parsed(value);
  }
  return read;
}

/// Checks that the stage stands where it may.
void check_place(const StageKind& kind, bool is_first, std::size_t inputs,
                 const std::string& place) {
  const bool stands_first = kind.role == StageRole::source || kind.role == StageRole::gathers;
  if (is_first && !stands_first) {
    refuse(fmt::format("{}: {} needs an input; a pipeline begins with a source", place, kind.name));
  }
  if (!is_first && stands_first) {
    refuse(fmt::format("{}: {} begins a pipeline, but stages stand before it", place, kind.name));
  }
  const bool takes_inputs = kind.role == StageRole::joins || kind.role == StageRole::gathers;
  if (!takes_inputs && inputs != 0) {
    refuse(fmt::format("{}: {} takes no \"inputs\"", place, kind.name));
  }
  if (takes_inputs && inputs == 0) {
    refuse(fmt::format("{}: {} needs \"inputs\", a list of pipelines", place, kind.name));
  }
}

/// Throws for a later version. JSON of version 1 need not say so.
void check_version(const Json& pipeline) {
  if (!pipeline.contains("version")) return;
  const Json& version = pipeline["version"];
  if (!version.is_number_unsigned() || version == 0) {
    refuse_value("$.version", text_of(version), "a whole number from 1 on");
  }
  if (version > kVersion) {
    throw infeed::detail::later_format("the pipeline", version.get<std::uint64_t>(), kVersion);
  }
}

bool has_object(const Json& json) {
  if (json.is_object() && json.size() == 1 && json.contains("object")) return true;
  return json.is_structured() && std::any_of(json.begin(), json.end(), has_object);
}

/// Returns true if a stage, one of "each" or one of "inputs" keeps the rows of bad records.
bool keeps_rows(const Json& json) {
  const auto has = [&](const char* key, const Json& value) {
    return json.is_object() && json.contains(key) && json[key] == value;
  };
  if (has("stage", "parse") && has("keep_rows", true)) return true;
  return json.is_structured() && std::any_of(json.begin(), json.end(), keeps_rows);
}

std::string text_of_stages(const Json& stages) {
  std::string text;
  for (const Json& stage : stages) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : stage.items()) {
      if (key == "stage") continue;
      if (key == "inputs") {
        for (const Json& input : value) parts.push_back(text_of_stages(input));
      } else {
        parts.push_back(fmt::format("{}={}", key, value.dump()));
      }
    }
    text += fmt::format("{}{}({})", text.empty() ? "" : " | ", stage["stage"].get<std::string>(),
                        fmt::join(parts, ", "));
  }
  return text;
}

}  // namespace

class Description::Stages {
 public:
  Json list = Json::array();
};

/// Adds stages to descriptions.
class Description::Reader {
 public:
  Reader(std::shared_ptr<const StageTable> table, const Objects& objects)
      : table_(std::move(table)), objects_(objects) {}

  Description read(const Json& stages, const std::string& place) const;
  Description added(const Description& before, const std::string& stage, const Json& options,
                    const std::vector<Description>& inputs, const std::string& place) const;

 private:
  Description read_next(const Description& before, const Json& stage,
                        const std::string& place) const;

  std::shared_ptr<const StageTable> table_;
  const Objects& objects_;
};

Description Description::Reader::read(const Json& stages, const std::string& place) const {
  if (!stages.is_array() || stages.empty()) {
    refuse_value(place, text_of(stages),
                 "a list of stages, as [{\"stage\": \"range\", \"stop\": 10}]");
  }
  Description description(table_);
  std::size_t index = 0;
  for (const Json& stage : stages) {
    description = read_next(description, stage, fmt::format("{}[{}]", place, index++));
  }
  return description;
}

Description Description::Reader::read_next(const Description& before, const Json& stage,
                                           const std::string& place) const {
  if (!stage.is_object() || !stage.contains("stage") || !stage["stage"].is_string()) {
    refuse_value(place, text_of(stage), "an object with \"stage\", the name of one");
  }
  std::vector<Description> inputs;
  if (stage.contains("inputs")) {
    if (!stage["inputs"].is_array()) {
      refuse_value(place + ".inputs", text_of(stage["inputs"]), "a list");
    }
    for (const Json& input : stage["inputs"]) {
      inputs.push_back(read(input, fmt::format("{}.inputs[{}]", place, inputs.size())));
    }
  }
  Json options = stage;
  options.erase("stage");
  options.erase("inputs");
  return added(before, stage["stage"].get<std::string>(), options, inputs, place);
}

Description Description::Reader::added(const Description& before, const std::string& stage,
                                       const Json& options, const std::vector<Description>& inputs,
                                       const std::string& place) const {
  const StageKind& kind = table_->kind(stage, place);
  check_place(kind, before.is_empty(), inputs.size(), place);
  Description result(table_);
  result.objects_ = before.objects_;
  result.objects_.insert(objects_.begin(), objects_.end());
  Json line{{"stage", stage}};
  Making making{{}, *table_, result.objects_, place};
  if (!before.is_empty()) making.inputs.push_back(*before.elements_);
  for (const Description& input : inputs) {
    making.inputs.push_back(input.elements());
    line["inputs"].push_back(input.stages_->list);
    result.objects_.insert(input.objects_.begin(), input.objects_.end());
  }
  const std::shared_ptr<void> values = kind.new_options();
  line.update(read_options(kind, options, values.get(), place));
  try {
    result.elements_ = std::make_shared<const Elements>(kind.make(values.get(), making));
  } catch (const Error& error) {
    if (place == stage) throw;  // the message says the stage itself
    throw error.reworded(error.code(), fmt::format("{}: {}", place, error.message()));
  }
  const auto stages = std::make_shared<Stages>();
  if (!before.is_empty()) stages->list = before.stages_->list;
  stages->list.push_back(std::move(line));
  result.stages_ = stages;
  return result;
}

Description::Description(std::shared_ptr<const StageTable> table) : table_(std::move(table)) {}

Description Description::from_json(std::string_view text, std::shared_ptr<const StageTable> table,
                                   const Objects& objects) {
  if (detail::exceeds_json_limits(text)) {
    refuse(fmt::format("the pipeline {}", detail::json_limits_text()));
  }
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    refuse(fmt::format("the pipeline is no JSON: {}", error.what()));
  }
  detail::refuse_lossy_json(text, "the pipeline");
  if (!json.is_object()) refuse_value("$", text_of(json), "an object with \"stages\"");
  check_version(json);
  check_keys(json, {"version", "stages"}, "$", "the pipeline");
  if (!json.contains("stages")) refuse("$ has no \"stages\"");
  return Reader(std::move(table), objects).read(json["stages"], "$.stages");
}

Description Description::then(const std::string& stage, std::string_view options,
                              const std::vector<Description>& inputs,
                              const Objects& objects) const {
  const Json json = Json::parse(options);
  detail::refuse_lossy_json(options, stage);
  return Reader(table_, objects).added(*this, stage, json, inputs, stage);
}

const Elements& Description::elements() const {
  if (elements_ == nullptr) {
    throw Error(ErrorCode::failed_precondition, "the pipeline has no stages: begin with a source");
  }
  return *elements_;
}

std::string Description::to_json(bool with_objects) const {
  const Json none = Json::array();
  const Json& stages = is_empty() ? none : stages_->list;
  if (!with_objects && has_object(stages)) {
    throw Error(ErrorCode::failed_precondition,
                "the pipeline has functions of its program, which JSON can't hold; pickle it, or "
                "describe the part before them");
  }
  std::string text = "{\"stages\": [";
  for (const Json& stage : stages) {
    text += (&stage == &stages.front() ? "\n  " : ",\n  ") + text_of(stage).text();
  }
  return text + "]}\n";
}

std::string Description::text() const { return is_empty() ? "" : text_of_stages(stages_->list); }

bool Description::operator==(const Description& other) const {
  if (is_empty() || other.is_empty()) return is_empty() == other.is_empty();
  return stages_->list == other.stages_->list;
}

std::shared_ptr<const BadRowLedger> Description::bad_rows() const {
  return !is_empty() && keeps_rows(stages_->list) ? table_->bad_rows() : nullptr;
}

std::uint64_t Description::fingerprint() const { return fingerprint_of(*elements().node()); }

std::uint64_t fingerprint_of(const Node& node) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const std::string& line : detail::signature_of(node)) {
    for (const char c : line + "\n") {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    }
  }
  return hash;
}

}  // namespace infeed::describe
