#include "infeed/describe/option_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "infeed/error.h"
#include "infeed/records/detail/nearest_names.h"

namespace infeed::describe {

void refuse_value(const std::string& place, const Json& value, std::string_view expected) {
  std::string shown = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} is {}; it must be {}", place, shown, expected));
}

bool OptionValue<bool>::read(const Json& value, const std::string& place) {
  if (!value.is_boolean()) refuse_value(place, value, "true or false");
  return value.get<bool>();
}

std::int64_t OptionValue<std::int64_t>::read(const Json& value, const std::string& place) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const bool fits =
      value.is_number_unsigned() ? value.get<std::uint64_t>() <= kMost : value.is_number_integer();
  if (!fits) refuse_value(place, value, "a whole number");
  return value.get<std::int64_t>();
}

std::uint64_t OptionValue<std::uint64_t>::read(const Json& value, const std::string& place) {
  if (!value.is_number_unsigned() &&
      !(value.is_number_integer() && value.get<std::int64_t>() >= 0)) {
    refuse_value(place, value, "a whole number of 0 or more");
  }
  return value.get<std::uint64_t>();
}

Count OptionValue<Count>::read(const Json& value, const std::string& place) {
  const std::int64_t number = OptionValue<std::int64_t>::read(value, place);
  if (number < 0) refuse_value(place, value, "a whole number of 0 or more");
  return number;
}

Json OptionValue<Tuned>::write(Tuned value) {
  if (value.value == autotune) return "autotune";
  return value.value;
}

Tuned OptionValue<Tuned>::read(const Json& value, const std::string& place) {
  if (value == "autotune") return {};
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0) {
    refuse_value(place, value, "a whole number of 0 or more, or \"autotune\"");
  }
  return {OptionValue<std::int64_t>::read(value, place)};
}

double OptionValue<double>::read(const Json& value, const std::string& place) {
  if (!value.is_number()) refuse_value(place, value, "a number");
  return value.get<double>();
}

Json OptionValue<float>::write(float value) {
  // Writes the shortest text that is this float, not the 17 digits of the double.
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return Json::parse(std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

float OptionValue<float>::read(const Json& value, const std::string& place) {
  if (!value.is_number()) refuse_value(place, value, "a number");
  return value.get<float>();
}

std::string OptionValue<std::string>::read(const Json& value, const std::string& place) {
  if (!value.is_string()) refuse_value(place, value, "a text");
  return value.get<std::string>();
}

Json OptionValue<Files>::write(const Files& value) {
  if (value.pattern) return *value.pattern;
  return value.names;
}

Files OptionValue<Files>::read(const Json& value, const std::string& place) {
  if (value.is_string()) return {.pattern = value.get<std::string>()};
  if (!value.is_array()) refuse_value(place, value, "a pattern of file names, or a list of names");
  return {.names = OptionValue<std::vector<std::string>>::read(value, place)};
}

Json OptionValue<ColumnSchema>::write(const ColumnSchema& value) {
  return Json::parse(value.to_json())["columns"];
}

ColumnSchema OptionValue<ColumnSchema>::read(const Json& value, const std::string& place) {
  if (!value.is_array()) {
    refuse_value(place, value,
                 "a list of columns, as [{\"name\": \"label\", \"dtype\": \"int64\"}]");
  }
  try {
    return ColumnSchema::from_json(Json{{"columns", value}}.dump());
  } catch (const Error& error) {
    // The schema's own places begin with "columns[2]".
    std::string_view message = error.message();
    constexpr std::string_view kOwn = "columns";
    if (message.starts_with(kOwn)) message.remove_prefix(kOwn.size());
    throw error.reworded(error.code(), fmt::format("{}{}", place, message));
  }
}

DType OptionValue<DType>::read(const Json& value, const std::string& place) {
  const std::string name = OptionValue<std::string>::read(value, place);
  try {
    return dtype_from(name);
  } catch (const Error& error) {
    throw error.reworded(error.code(), fmt::format("{} is '{}': {}", place, name, error.message()));
  }
}

ObjectId OptionValue<ObjectId>::read(const Json& value, const std::string& place) {
  if (!value.is_object() || value.size() != 1 || !value.contains("object")) {
    refuse_value(place, value, "{\"object\": ID}");
  }
  return {OptionValue<std::string>::read(value["object"], place + ".object")};
}

std::size_t place_of_name(const Json& value, const std::string& place,
                          std::span<const std::string_view> names) {
  if (value.is_string()) {
    const auto found = std::find(names.begin(), names.end(), value.get<std::string>());
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  }
  refuse_value(place, value, fmt::format("one of \"{}\"", fmt::join(names, "\", \"")));
}

}  // namespace infeed::describe
