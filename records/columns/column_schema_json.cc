#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/detail/json_depth.h"
#include "infeed/records/detail/json_doubles.h"
#include "infeed/records/detail/nearest_names.h"

namespace infeed {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse_json(const std::string& place, std::string_view what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("{} {}", place, what));
}

/// Returns the value as text, short enough for a message.
std::string shown_json(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

Json json_of_number(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}

Json json_of_default(const ColumnType& type) {
  Json list = Json::array();
  std::visit(
      [&list]<class Value>(const std::vector<Value>& values) {
        for (const Value& value : values) {
          if constexpr (std::is_same_v<Value, double>) {
            list.push_back(json_of_number(value));
          } else {
            list.push_back(value);
          }
        }
      },
      *type.missing);
  const bool is_scalar = type.kind == Column::Kind::dense || type.kind == Column::Kind::bytes;
  return is_scalar && list.size() == 1 ? list[0] : list;
}

Json json_of_column(const ColumnType& type) {
  Json json = {{"name", type.name}};
  if (type.kind != Column::Kind::dense) json["kind"] = to_string(type.kind);
  if (type.dtype != DType::bytes) json["dtype"] = to_string(type.dtype);
  if (type.shape.rank() != 0) {
    json["shape"] = std::vector<std::int64_t>(type.shape.begin(), type.shape.end());
  }
  if (type.ragged_levels != 1) json["ragged_levels"] = type.ragged_levels;
  if (type.width) json["width"] = *type.width;
  if (type.kind == Column::Kind::padded) json["padding"] = json_of_number(type.padding);
  if (type.missing) json["default"] = json_of_default(type);
  if (type.partition) {
    const bool has_splits = std::holds_alternative<RowSplits>(*type.partition);
    json[has_splits ? "row_splits" : "row_lengths"] =
        std::visit([](const auto& by) { return by.feature; }, *type.partition);
  }
  if (type.source == ColumnSource::feature_list) json["feature_list"] = true;
  if (type.is_guess) json["guess"] = true;
  return json;
}

/// Reads one column of the text, key by key.
class ColumnReader {
 public:
  ColumnReader(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) {
      refuse_json(place_, fmt::format("is {}; a column is an object as {{\"name\": \"label\", "
                                      "\"dtype\": \"int64\"}}",
                                      shown_json(json)));
    }
    for (const auto& [key, value] : json.items()) require_known(key);
  }

  ColumnType read() {
    ColumnType type;
    if (!json_.contains("name")) refuse_json(place_, "has no \"name\"");
    type.name = text("name");
    type.kind = kind();
    const bool is_bytes =
        type.kind == Column::Kind::bytes || type.kind == Column::Kind::ragged_bytes;
    type.dtype = dtype(is_bytes);
    if (json_.contains("shape")) type.shape = shape();
    if (json_.contains("ragged_levels")) type.ragged_levels = integer("ragged_levels");
    if (json_.contains("width") && !json_["width"].is_null()) type.width = integer("width");
    if (json_.contains("padding")) type.padding = number(json_["padding"], at("padding"));
    if (json_.contains("default")) type.missing = missing();
    if (json_.contains("row_lengths")) type.partition = RowLengths{text("row_lengths")};
    if (json_.contains("row_splits")) type.partition = RowSplits{text("row_splits")};
    if (json_.contains("feature_list") && truth("feature_list")) {
      type.source = ColumnSource::feature_list;
    }
    type.is_guess = json_.contains("guess") && truth("guess");
    return type;
  }

 private:
  static constexpr std::array<std::string_view, 12> kKeys = {
      "name",    "kind",    "dtype",       "shape",      "ragged_levels", "width",
      "padding", "default", "row_lengths", "row_splits", "feature_list",  "guess"};

  std::string at(std::string_view key) const { return fmt::format("{}.{}", place_, key); }

  void require_known(const std::string& key) const {
    if (std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end()) return;
    const auto nearest =
        detail::names_by_distance(std::vector<std::string>(kKeys.begin(), kKeys.end()), key);
    refuse_json(place_, fmt::format("has the key '{}', which no column has{}; the keys are {}", key,
                                    detail::did_you_mean(nearest, key), fmt::join(kKeys, ", ")));
  }
  std::string text(const char* key) const {
    const Json& value = json_[key];
    if (!value.is_string()) {
      refuse_json(at(key), fmt::format("is {}; it must be a string", shown_json(value)));
    }
    return value.get<std::string>();
  }
  bool truth(const char* key) const {
    const Json& value = json_[key];
    if (!value.is_boolean()) {
      refuse_json(at(key), fmt::format("is {}; it must be true or false", shown_json(value)));
    }
    return value.get<bool>();
  }
  std::int64_t integer(const char* key) const { return integer(json_[key], at(key)); }
  static std::int64_t integer(const Json& value, const std::string& place) {
    if (!value.is_number_integer()) {
      refuse_json(place, fmt::format("is {}; it must be a whole number", shown_json(value)));
    }
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
      refuse_json(place, fmt::format("is {}; it must be a whole number of at most 2^63 - 1",
                                     shown_json(value)));
    }
    return value.get<std::int64_t>();
  }
  static double number(const Json& value, const std::string& place) {
    if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (value == "inf") return std::numeric_limits<double>::infinity();
    if (value == "-inf") return -std::numeric_limits<double>::infinity();
    if (!value.is_number()) {
      refuse_json(place, fmt::format("is {}; it must be a number, \"nan\", \"inf\" or \"-inf\"",
                                     shown_json(value)));
    }
    if (detail::float64_rounds_json(value)) {
      refuse_json(place,
                  fmt::format("is {}; it must be a number that float64 holds, as all whole ones "
                              "up to 2^53",
                              shown_json(value)));
    }
    return value.get<double>();
  }
  Column::Kind kind() const {
    if (!json_.contains("kind")) return Column::Kind::dense;
    const std::string name = text("kind");
    std::vector<std::string_view> known;
    for (int i = 0; i <= static_cast<int>(Column::Kind::ragged_bytes); ++i) {
      known.push_back(to_string(static_cast<Column::Kind>(i)));
      if (name == known.back()) return static_cast<Column::Kind>(i);
    }
    refuse_json(at("kind"), fmt::format("is '{}'; the kinds are {}", name, fmt::join(known, ", ")));
  }
  DType dtype(bool is_bytes) const {
    if (!json_.contains("dtype")) {
      if (is_bytes) return DType::bytes;
      refuse_json(place_, "has no \"dtype\"");
    }
    const std::string name = text("dtype");
    try {
      return dtype_from(name);
    } catch (const Error& error) {
      refuse_json(at("dtype"), fmt::format("is '{}': {}", name, error.message()));
    }
  }
  Shape shape() const {
    const Json& list = json_["shape"];
    if (!list.is_array()) {
      refuse_json(at("shape"), fmt::format("is {}; it must be a list of whole numbers, as [28, 28]",
                                           shown_json(list)));
    }
    std::vector<std::int64_t> extents;
    for (const Json& extent : list) {
      extents.push_back(integer(extent, fmt::format("{}[{}]", at("shape"), extents.size())));
    }
    try {
      return Shape(extents);
    } catch (const Error& error) {
      refuse_json(at("shape"), fmt::format("is wrong: {}", error.message()));
    }
  }
  ColumnDefault missing() const {
    const Json list =
        json_["default"].is_array() ? json_["default"] : Json::array({json_["default"]});
    const auto all = [&list](auto&& is) { return std::all_of(list.begin(), list.end(), is); };
    if (all([](const Json& value) { return value.is_number_integer(); })) {
      std::vector<std::int64_t> integers;
      for (const Json& value : list) integers.push_back(integer(value, at("default")));
      return integers;
    }
    const bool are_texts = all([](const Json& value) { return value.is_string(); });
    const bool is_of_bytes = json_.contains("kind") && text("kind").ends_with("bytes");
    if (are_texts && is_of_bytes) return list.get<std::vector<std::string>>();
    std::vector<double> numbers;
    for (const Json& value : list) numbers.push_back(number(value, at("default")));
    return numbers;
  }

  const Json& json_;
  std::string place_;
};

}  // namespace

std::string ColumnSchema::to_json() const {
  std::string text = "{\"columns\": [";
  for (const ColumnType& type : columns_) {
    text += &type == columns_.data() ? "\n  " : ",\n  ";
    try {
      text += json_of_column(type).dump();
    } catch (const Json::exception&) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("column '{}' has a name or a default that is no UTF-8, which JSON "
                              "can't hold",
                              type.name));
    }
  }
  return text + "]}\n";
}

ColumnSchema ColumnSchema::from_json(std::string_view text) {
  Json json;
  try {
    if (detail::exceeds_json_limits(text)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the schema is no list of columns: {}", detail::json_limits_text()));
    }
    json = Json::parse(text);
    detail::refuse_lossy_json(text, "the schema");
  } catch (const Json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte, text.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the schema is no JSON: it goes wrong at byte {} (line {})", error.byte, line));
  } catch (const Json::out_of_range&) {
    throw Error(ErrorCode::invalid_argument,
                "the schema has a number beyond the range of a double (1.8e308): write a smaller "
                "one, or \"inf\"");
  }
  if (!json.is_object() || !json.contains("columns") || !json["columns"].is_array()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the schema is {}; it must be an object with a list of columns, as "
                            "{{\"columns\": [{{\"name\": \"label\", \"dtype\": \"int64\"}}]}}",
                            shown_json(json)));
  }
  for (const auto& [key, value] : json.items()) {
    if (key != "columns") {
      refuse_json("the schema", fmt::format("has the key '{}'; there is only columns", key));
    }
  }
  ColumnSchema schema;
  for (const Json& column : json["columns"]) {
    const std::string place = fmt::format("columns[{}]", schema.size());
    ColumnType type = ColumnReader(column, place).read();
    try {
      schema.add(std::move(type));
    } catch (const Error& error) {
      refuse_json(place + ":", error.message());
    }
  }
  return schema;
}

}  // namespace infeed
