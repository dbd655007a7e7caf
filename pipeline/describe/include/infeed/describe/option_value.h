#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/count.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/column_schema.h>
#include <infeed/records/dtype.h>

/// How an option's value is written in JSON, by its C++ type. An enum has a list of its names
/// (EnumNames).
namespace infeed::describe {

using Json = nlohmann::ordered_json;

/// Throws Error(invalid_argument): "$.stages[1].buffer is "x"; it must be a whole number".
[[noreturn]] void refuse_value(const std::string& place, const Json& value,
                               std::string_view expected);

/// A pattern of file names, or a list of names.
struct Files {
  std::optional<std::string> pattern = std::nullopt;
  std::vector<std::string> names = {};

  /// Calls the function with a pattern or with names, as sources take them.
  template <class Source>
  auto read(const Source& source) const {
    return pattern ? source(*pattern) : source(names);
  }
  bool operator==(const Files&) const = default;
};

/// A number of threads or a depth, which may be "autotune".
struct Tuned {
  std::int64_t value = autotune;
};

/// The id of a thing that JSON can't hold: a function of the program's own language.
struct ObjectId {
  std::string id;
};

/// Specialise with `static constexpr std::pair<Enum, std::string_view> kNames[]`.
template <class Enum>
struct EnumNames;

template <class T>
struct OptionValue;

template <>
struct OptionValue<bool> {
  static std::string type() { return "bool"; }
  static Json write(bool value) { return value; }
  static bool read(const Json& value, const std::string& place);
};

template <>
struct OptionValue<std::int64_t> {
  static std::string type() { return "int"; }
  static Json write(std::int64_t value) { return value; }
  static std::int64_t read(const Json& value, const std::string& place);
};

template <>
struct OptionValue<std::uint64_t> {
  static std::string type() { return "int"; }
  static Json write(std::uint64_t value) { return value; }
  static std::uint64_t read(const Json& value, const std::string& place);
};

template <>
struct OptionValue<Count> {
  static std::string type() { return "int"; }
  static Json write(Count value) { return value.value(); }
  static Count read(const Json& value, const std::string& place);
};

template <>
struct OptionValue<Tuned> {
  static std::string type() { return "int | Literal['autotune']"; }
  static Json write(Tuned value);
  static Tuned read(const Json& value, const std::string& place);
};

template <>
struct OptionValue<double> {
  static std::string type() { return "float"; }
  static Json write(double value) { return value; }
  static double read(const Json& value, const std::string& place);
};

template <>
struct OptionValue<float> {
  static std::string type() { return "float"; }
  static Json write(float value);
  static float read(const Json& value, const std::string& place);
};

template <>
struct OptionValue<std::string> {
  static std::string type() { return "str"; }
  static Json write(const std::string& value) { return value; }
  static std::string read(const Json& value, const std::string& place);
};

template <>
struct OptionValue<Files> {
  static std::string type() { return "str | Sequence[str]"; }
  static Json write(const Files& value);
  static Files read(const Json& value, const std::string& place);
};

template <>
struct OptionValue<ColumnSchema> {
  static std::string type() { return "Schema"; }
  static Json write(const ColumnSchema& value);
  static ColumnSchema read(const Json& value, const std::string& place);
};

template <>
struct OptionValue<DType> {
  static std::string type() { return "str"; }
  static Json write(DType value) { return to_string(value); }
  static DType read(const Json& value, const std::string& place);
};

template <>
struct OptionValue<ObjectId> {
  static std::string type() { return "object"; }
  static Json write(const ObjectId& value) { return Json{{"object", value.id}}; }
  static ObjectId read(const Json& value, const std::string& place);
};

template <class T>
struct OptionValue<std::optional<T>> {
  static std::string type() { return OptionValue<T>::type() + " | None"; }
  static Json write(const std::optional<T>& value) {
    return value ? OptionValue<T>::write(*value) : Json();
  }
  static std::optional<T> read(const Json& value, const std::string& place) {
    if (value.is_null()) return std::nullopt;
    return OptionValue<T>::read(value, place);
  }
};

template <class T>
struct OptionValue<std::vector<T>> {
  static std::string type() { return "Sequence[" + OptionValue<T>::type() + "]"; }
  static Json write(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(OptionValue<T>::write(value));
    return list;
  }
  static std::vector<T> read(const Json& value, const std::string& place) {
    if (!value.is_array()) refuse_value(place, value, "a list");
    std::vector<T> values;
    for (const Json& item : value) {
      values.push_back(
          OptionValue<T>::read(item, place + "[" + std::to_string(values.size()) + "]"));
    }
    return values;
  }
};

/// Returns the place of the text among the names. Throws an Error that lists them.
std::size_t place_of_name(const Json& value, const std::string& place,
                          std::span<const std::string_view> names);

template <class Enum>
requires requires { EnumNames<Enum>::kNames; }
struct OptionValue<Enum> {
  static std::vector<std::string_view> names() {
    std::vector<std::string_view> names;
    for (const auto& [value, name] : EnumNames<Enum>::kNames) names.push_back(name);
    return names;
  }
  static std::string type() {
    std::string list;
    for (const std::string_view name : names()) {
      list += (list.empty() ? "'" : ", '") + std::string(name) + "'";
    }
    return "Literal[" + list + "]";
  }
  static Json write(Enum wanted) {
    for (const auto& [value, name] : EnumNames<Enum>::kNames) {
      if (value == wanted) return name;
    }
    return {};
  }
  static Enum read(const Json& value, const std::string& place) {
    return EnumNames<Enum>::kNames[place_of_name(value, place, names())].first;
  }
};

}  // namespace infeed::describe
