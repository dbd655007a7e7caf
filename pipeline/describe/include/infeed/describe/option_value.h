#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
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

/// A value as JSON text.
class JsonText {
 public:
  JsonText() = default;  ///< null
  explicit JsonText(std::string text) : text_(std::move(text)) {}
  static JsonText of(bool value) { return JsonText(value ? "true" : "false"); }
  static JsonText of(std::int64_t value) { return JsonText(std::to_string(value)); }
  static JsonText of(std::uint64_t value) { return JsonText(std::to_string(value)); }
  static JsonText of(double value);
  static JsonText of(float value);
  static JsonText of(std::string_view value);
  static JsonText of(const char* value) { return of(std::string_view(value)); }
  static JsonText list(const std::vector<JsonText>& items);

  bool is_null() const { return text_ == "null"; }
  /// Returns the items of a list. Throws an Error that names the place if it is none.
  std::vector<JsonText> items(const std::string& place) const;
  const std::string& text() const { return text_; }
  bool operator==(const JsonText&) const = default;

 private:
  std::string text_ = "null";
};

/// Throws Error(invalid_argument): "$.stages[1].buffer is "x"; it must be a whole number".
[[noreturn]] void refuse_value(const std::string& place, const JsonText& value,
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
  static JsonText write(bool value) { return JsonText::of(value); }
  static bool read(const JsonText& value, const std::string& place);
};

template <>
struct OptionValue<std::int64_t> {
  static std::string type() { return "int"; }
  static JsonText write(std::int64_t value) { return JsonText::of(value); }
  static std::int64_t read(const JsonText& value, const std::string& place);
};

template <>
struct OptionValue<std::uint64_t> {
  static std::string type() { return "int"; }
  static JsonText write(std::uint64_t value) { return JsonText::of(value); }
  static std::uint64_t read(const JsonText& value, const std::string& place);
};

template <>
struct OptionValue<Count> {
  static std::string type() { return "int"; }
  static JsonText write(Count value) { return JsonText::of(value.value()); }
  static Count read(const JsonText& value, const std::string& place);
};

template <>
struct OptionValue<Tuned> {
  static std::string type() { return "int | Literal['autotune']"; }
  static JsonText write(Tuned value);
  static Tuned read(const JsonText& value, const std::string& place);
};

template <>
struct OptionValue<double> {
  static std::string type() { return "float"; }
  static JsonText write(double value) { return JsonText::of(value); }
  static double read(const JsonText& value, const std::string& place);
};

template <>
struct OptionValue<float> {
  static std::string type() { return "float"; }
  static JsonText write(float value) { return JsonText::of(value); }
  static float read(const JsonText& value, const std::string& place);
};

template <>
struct OptionValue<std::string> {
  static std::string type() { return "str"; }
  static JsonText write(const std::string& value) { return JsonText::of(value); }
  static std::string read(const JsonText& value, const std::string& place);
};

template <>
struct OptionValue<Files> {
  static std::string type() { return "str | Sequence[str]"; }
  static JsonText write(const Files& value);
  static Files read(const JsonText& value, const std::string& place);
};

template <>
struct OptionValue<ColumnSchema> {
  static std::string type() { return "Schema"; }
  static JsonText write(const ColumnSchema& value);
  static ColumnSchema read(const JsonText& value, const std::string& place);
};

template <>
struct OptionValue<DType> {
  static std::string type() { return "str"; }
  static JsonText write(DType value) { return JsonText::of(to_string(value)); }
  static DType read(const JsonText& value, const std::string& place);
};

template <>
struct OptionValue<ObjectId> {
  static std::string type() { return "object"; }
  static JsonText write(const ObjectId& value);
  static ObjectId read(const JsonText& value, const std::string& place);
};

template <class T>
struct OptionValue<std::optional<T>> {
  static std::string type() { return OptionValue<T>::type() + " | None"; }
  static JsonText write(const std::optional<T>& value) {
    return value ? OptionValue<T>::write(*value) : JsonText();
  }
  static std::optional<T> read(const JsonText& value, const std::string& place) {
    if (value.is_null()) return std::nullopt;
    return OptionValue<T>::read(value, place);
  }
};

template <class T>
struct OptionValue<std::vector<T>> {
  static std::string type() { return "Sequence[" + OptionValue<T>::type() + "]"; }
  static JsonText write(const std::vector<T>& values) {
    std::vector<JsonText> items;
    for (const T& value : values) items.push_back(OptionValue<T>::write(value));
    return JsonText::list(items);
  }
  static std::vector<T> read(const JsonText& value, const std::string& place) {
    std::vector<T> values;
    for (const JsonText& item : value.items(place)) {
      values.push_back(
          OptionValue<T>::read(item, place + "[" + std::to_string(values.size()) + "]"));
    }
    return values;
  }
};

/// Returns the place of the text among the names. Throws an Error that lists them.
std::size_t place_of_name(const JsonText& value, const std::string& place,
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
  static JsonText write(Enum wanted) {
    for (const auto& [value, name] : EnumNames<Enum>::kNames) {
      if (value == wanted) return JsonText::of(name);
    }
    return {};
  }
  static Enum read(const JsonText& value, const std::string& place) {
    return EnumNames<Enum>::kNames[place_of_name(value, place, names())].first;
  }
};

}  // namespace infeed::describe
