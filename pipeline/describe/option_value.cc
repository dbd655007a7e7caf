#include "infeed/describe/option_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "describe/json.h"
#include "infeed/error.h"
#include "infeed/records/detail/json_doubles.h"

namespace infeed::describe {

JsonText JsonText::of(double value) { return text_of(value); }

JsonText JsonText::of(float value) {
  // The shortest text that is this float, not the 17 digits of the double.
  std::array<char, 32> text{};
  return JsonText({text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr});
}

JsonText JsonText::of(std::string_view value) { return text_of(value); }

JsonText JsonText::list(const std::vector<JsonText>& items) {
  std::string text = "[";
  for (const JsonText& item : items) text += (text.size() == 1 ? "" : ",") + item.text();
  return JsonText(text + "]");
}

std::vector<JsonText> JsonText::items(const std::string& place) const {
  const Json list = parsed(*this);
  if (!list.is_array()) refuse_value(place, *this, "a list");
  std::vector<JsonText> items;
  for (const Json& item : list) items.push_back(text_of(item));
  return items;
}

void refuse_value(const std::string& place, const JsonText& value, std::string_view expected) {
  std::string shown = value.text();
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} is {}; it must be {}", place, shown, expected));
}

bool OptionValue<bool>::read(const JsonText& value, const std::string& place) {
  const Json json = parsed(value);
  if (!json.is_boolean()) refuse_value(place, value, "true or false");
  return json.get<bool>();
}

std::int64_t OptionValue<std::int64_t>::read(const JsonText& value, const std::string& place) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Json json = parsed(value);
  const bool fits =
      json.is_number_unsigned() ? json.get<std::uint64_t>() <= kMost : json.is_number_integer();
  if (!fits) refuse_value(place, value, "a whole number");
  return json.get<std::int64_t>();
}

std::uint64_t OptionValue<std::uint64_t>::read(const JsonText& value, const std::string& place) {
  const Json json = parsed(value);
  if (!json.is_number_unsigned()) refuse_value(place, value, "a whole number of 0 or more");
  return json.get<std::uint64_t>();
}

Count OptionValue<Count>::read(const JsonText& value, const std::string& place) {
  const std::int64_t number = OptionValue<std::int64_t>::read(value, place);
  if (number < 0) refuse_value(place, value, "a whole number of 0 or more");
  return number;
}

JsonText OptionValue<Tuned>::write(Tuned value) {
  if (value.value == autotune) return JsonText::of("autotune");
  return JsonText::of(value.value);
}

Tuned OptionValue<Tuned>::read(const JsonText& value, const std::string& place) {
  const Json json = parsed(value);
  if (json == "autotune") return {};
  if (!json.is_number_unsigned()) {
    refuse_value(place, value, "a whole number of 0 or more, or \"autotune\"");
  }
  return {OptionValue<std::int64_t>::read(value, place)};
}

double OptionValue<double>::read(const JsonText& value, const std::string& place) {
  const Json json = parsed(value);
  if (!json.is_number()) refuse_value(place, value, "a number");
  if (infeed::detail::float64_rounds_json(json)) {
    refuse_value(place, value, "a number that float64 holds, as all whole ones up to 2^53");
  }
  return json.get<double>();
}

float OptionValue<float>::read(const JsonText& value, const std::string& place) {
  const double number = OptionValue<double>::read(value, place);
  const auto nearest = static_cast<float>(number);
  if (std::isinf(nearest)) refuse_value(place, value, "a number that float32 holds, up to 3.4e38");
  return nearest;
}

std::string OptionValue<std::string>::read(const JsonText& value, const std::string& place) {
  const Json json = parsed(value);
  if (!json.is_string()) refuse_value(place, value, "a text");
  return json.get<std::string>();
}

JsonText OptionValue<Files>::write(const Files& value) {
  if (value.pattern) return JsonText::of(*value.pattern);
  return OptionValue<std::vector<std::string>>::write(value.names);
}

Files OptionValue<Files>::read(const JsonText& value, const std::string& place) {
  const Json json = parsed(value);
  if (json.is_string()) return {.pattern = json.get<std::string>()};
  if (!json.is_array()) refuse_value(place, value, "a pattern of file names, or a list of names");
  return {.names = OptionValue<std::vector<std::string>>::read(value, place)};
}

JsonText OptionValue<ColumnSchema>::write(const ColumnSchema& value) {
  return text_of(Json::parse(value.to_json())["columns"]);
}

ColumnSchema OptionValue<ColumnSchema>::read(const JsonText& value, const std::string& place) {
  const Json json = parsed(value);
  if (!json.is_array()) {
    refuse_value(place, value,
                 "a list of columns, as [{\"name\": \"label\", \"dtype\": \"int64\"}]");
  }
  try {
    return ColumnSchema::from_json("{\"columns\": " + value.text() + "}");
  } catch (const Error& error) {
    // The schema's own places begin with "columns[2]".
    std::string_view message = error.message();
    constexpr std::string_view kOwn = "columns";
    if (message.starts_with(kOwn)) message.remove_prefix(kOwn.size());
    throw error.reworded(error.code(), fmt::format("{}{}", place, message));
  }
}

DType OptionValue<DType>::read(const JsonText& value, const std::string& place) {
  const std::string name = OptionValue<std::string>::read(value, place);
  try {
    return dtype_from(name);
  } catch (const Error& error) {
    throw error.reworded(error.code(), fmt::format("{} is '{}': {}", place, name, error.message()));
  }
}

JsonText OptionValue<ObjectId>::write(const ObjectId& value) {
  return text_of(Json{{"object", value.id}});
}

ObjectId OptionValue<ObjectId>::read(const JsonText& value, const std::string& place) {
  const Json json = parsed(value);
  if (!json.is_object() || json.size() != 1 || !json.contains("object")) {
    refuse_value(place, value, "{\"object\": ID}");
  }
  return {OptionValue<std::string>::read(text_of(json["object"]), place + ".object")};
}

std::size_t place_of_name(const JsonText& value, const std::string& place,
                          std::span<const std::string_view> names) {
  const Json json = parsed(value);
  if (json.is_string()) {
    const auto found = std::find(names.begin(), names.end(), json.get<std::string>());
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  }
  refuse_value(place, value, fmt::format("one of \"{}\"", fmt::join(names, "\", \"")));
}

}  // namespace infeed::describe
