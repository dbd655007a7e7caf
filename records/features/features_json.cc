#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "features/feature_functions.h"
#include "infeed/records/detail/json_depth.h"
#include "infeed/records/detail/json_doubles.h"
#include "infeed/records/detail/nearest_names.h"
#include "infeed/records/features.h"

namespace infeed {
namespace {

using Json = nlohmann::ordered_json;

// Each step's options, for writing and for reading: visit(key, option).
template <class Step, class Visit>
void visit_options(Step& step, Visit visit) {
  visit("column", step.column);
  using Plain = std::remove_const_t<Step>;
  if constexpr (std::is_same_v<Plain, feature::HashBuckets>) {
    visit("buckets", step.buckets);
  } else if constexpr (std::is_same_v<Plain, feature::Vocabulary>) {
    visit("file", step.file);
    visit("words", step.words);
    visit("oov_buckets", step.oov_buckets);
  } else if constexpr (std::is_same_v<Plain, feature::Split>) {
    visit("delimiter", step.delimiter);
  } else if constexpr (std::is_same_v<Plain, feature::Cast>) {
    visit("dtype", step.dtype);
  } else if constexpr (std::is_same_v<Plain, feature::Fill>) {
    visit("value", step.value);
  } else if constexpr (std::is_same_v<Plain, feature::Clip>) {
    visit("min", step.min);
    visit("max", step.max);
  } else if constexpr (std::is_same_v<Plain, feature::Bucketise>) {
    visit("boundaries", step.boundaries);
  } else if constexpr (std::is_same_v<Plain, feature::Normalise>) {
    visit("mean", step.mean);
    visit("deviation", step.deviation);
  } else {
    visit("depth", step.depth);
    if constexpr (std::is_same_v<Plain, feature::MultiHot>) visit("counts", step.counts);
    visit("dtype", step.dtype);
  }
  visit("to", step.to);
}

Json json_of(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}
Json json_of(Count count) { return count.value(); }
Json json_of(DType dtype) { return to_string(dtype); }
Json json_of(bool truth) { return truth; }
Json json_of(const std::string& text) { return text; }
template <class Item>
Json json_of(const std::vector<Item>& items) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(json_of(item));
  return list;
}

/// Writes the step; options that have their default are left out.
Json json_of_step(const feature::Step& step) {
  Json json = {{"name", feature::name_of(step)}};
  std::visit(
      [&json]<class One>(const One& one) {
        Json defaults;
        const One plain{.column = {}};
        visit_options(
            plain, [&](const char* key, const auto& option) { defaults[key] = json_of(option); });
        visit_options(one, [&](const char* key, const auto& option) {
          Json value = json_of(option);
          if (value != defaults[key]) json[key] = std::move(value);
        });
      },
      step);
  return json;
}

/// Reads one step key by key.
class StepReader {
 public:
  StepReader(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}

  feature::Step read() const {
    if (!json_.is_object() || !json_.contains("name") || !json_["name"].is_string()) {
      refuse({}, "a step is expected, as {\"name\": \"clip\", \"column\": \"age\", \"max\": 100}");
    }
    const auto name = json_["name"].get<std::string>();
    std::optional<feature::Step> step;
    std::vector<std::string> names;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (try_kind<std::variant_alternative_t<I, feature::Step>>(name, step, names), ...);
    }
    (std::make_index_sequence<std::variant_size_v<feature::Step>>());
    if (!step) {
      const auto nearest = detail::names_by_distance(names, name);
      refuse("name", fmt::format("'{}' is no step{}; the steps are {}", name,
                                 detail::did_you_mean(nearest, name), fmt::join(names, ", ")));
    }
    return *std::move(step);
  }

 private:
  template <class One>
  void try_kind(const std::string& name, std::optional<feature::Step>& step,
                std::vector<std::string>& names) const {
    One one{.column = {}};
    names.emplace_back(feature::name_of(feature::Step(one)));
    if (name != names.back()) return;
    std::vector<std::string> keys = {"name"};
    visit_options(one, [&](const char* key, auto& option) {
      keys.emplace_back(key);
      if (json_.contains(key)) set(key, option);
    });
    for (const auto& [key, value] : json_.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      const auto nearest = detail::names_by_distance(keys, key);
      refuse({}, fmt::format("the step {} has no '{}'{}; it has {}", name, key,
                             detail::did_you_mean(nearest, key), fmt::join(keys, ", ")));
    }
    if (one.column.empty()) refuse("column", "the name of a column is expected");
    step = std::move(one);
  }

  [[noreturn]] void refuse(std::string_view key, std::string_view what) const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}{}{}: {}", place_, key.empty() ? "" : ".", key, what));
  }
  /// Refuses the value of `key`, which isn't the expected one.
  [[noreturn]] void refuse_value(const char* key, std::string_view expected) const {
    std::string found = json_[key].dump(-1, ' ', false, Json::error_handler_t::replace);
    if (found.size() > 40) found = found.substr(0, 37) + "...";
    refuse(key, fmt::format("{} is found, but {} is expected", found, expected));
  }

  void set(const char* key, std::string& option) const {
    if (!json_[key].is_string()) refuse_value(key, "text");
    option = json_[key].get<std::string>();
  }
  void set(const char* key, bool& option) const {
    if (!json_[key].is_boolean()) refuse_value(key, "true or false");
    option = json_[key].get<bool>();
  }
  void set(const char* key, Count& option) const {
    if (!json_[key].is_number_unsigned()) refuse_value(key, "a whole number from 0 on");
    option = json_[key].get<std::uint64_t>();
  }
  void set(const char* key, DType& option) const {
    if (!json_[key].is_string()) refuse_value(key, "the name of a type, as \"int64\",");
    try {
      option = dtype_from(json_[key].get<std::string>());
    } catch (const Error& error) {
      refuse(key, error.message());
    }
  }
  static std::optional<double> number(const Json& value) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (value == "inf") return kInfinity;
    if (value == "-inf") return -kInfinity;
    if (!value.is_number()) return std::nullopt;
    return value.get<double>();
  }
  /// Refuses a whole number that float64 rounds: others of its column would be taken for it.
  void check_kept(const char* key, const Json& value) const {
    if (detail::float64_rounds_json(value)) {
      refuse(key, fmt::format(
                      "{} is found, but a number that float64 holds is expected, as all whole ones "
                      "up to 2^53",
                      value.dump()));
    }
  }
  void set(const char* key, double& option) const {
    check_kept(key, json_[key]);
    const auto found = number(json_[key]);
    if (!found) refuse_value(key, "a number");
    option = *found;
  }
  void set(const char* key, std::vector<double>& option) const {
    const Json& value = json_[key];
    option.clear();
    for (const Json& item : value.is_array() ? value : Json::array({value})) {
      check_kept(key, item);
      const auto found = number(item);
      if (!found) refuse_value(key, "a number or a list of numbers");
      option.push_back(*found);
    }
  }
  void set(const char* key, std::vector<std::string>& option) const {
    const Json& value = json_[key];
    option.clear();
    if (!value.is_array()) refuse_value(key, "a list of texts");
    for (const Json& item : value) {
      if (!item.is_string()) refuse_value(key, "a list of texts");
      option.push_back(item.get<std::string>());
    }
  }

  const Json& json_;
  const std::string place_;
};

void add_option(detail::ContentHash& hash, const std::string& text) {
  hash.add(std::string_view(text));
}
template <class Option>
void add_option(detail::ContentHash& hash, const Option& option) {
  hash.add(std::string_view(json_of(option).dump()));
}

}  // namespace

void detail::add_options(ContentHash& hash, const feature::Step& step) {
  hash.add(feature::name_of(step));
  std::visit(
      [&hash](const auto& one) {
        visit_options(one, [&hash](std::string_view key, const auto& option) {
          if (key != "file" && key != "words") add_option(hash, option);
        });
      },
      step);
}

std::string Features::to_json() const {
  std::string text = "{\"features\": [";
  const char* separator = "\n  ";
  for (const feature::Step& step : steps()) {
    text += separator;
    try {
      text += json_of_step(step).dump();
    } catch (const Json::type_error&) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the options of a step {} hold bytes that are no UTF-8, which JSON "
                              "can't write",
                              feature::name_of(step)));
    }
    separator = ",\n  ";
  }
  return text + "]}\n";
}

Features Features::from_json(std::string_view text) {
  Json json;
  try {
    if (!detail::exceeds_json_limits(text)) {
      json = Json::parse(text);
      detail::refuse_lossy_json(text, "the list of steps");
    }
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the steps are no JSON: {}", error.what()));
  }
  if (!json.is_object() || json.size() != 1 || !json.contains("features") ||
      !json["features"].is_array()) {
    throw Error(ErrorCode::invalid_argument,
                "the text isn't of the form {\"features\": [{\"name\": \"clip\", \"column\": "
                "\"age\", \"max\": 100}]}");
  }
  std::vector<feature::Step> steps;
  for (const Json& step : json["features"]) {
    steps.push_back(StepReader(step, fmt::format("features[{}]", steps.size())).read());
  }
  return Features(std::move(steps));
}

}  // namespace infeed
