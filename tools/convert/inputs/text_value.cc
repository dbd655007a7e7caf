#include "convert/inputs/text_value.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <infeed/error.h>
#include <infeed/records/file.h>

namespace infeed::tools {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.size() > 1 && text.starts_with('+') && text[1] != '-') text.remove_prefix(1);
  return text;
}

template <class T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

FeatureKind parse_kind(const std::string& column, const nlohmann::json& value,
                       const std::string& file) {
  for (const FeatureKind kind : {FeatureKind::bytes, FeatureKind::floats, FeatureKind::integers}) {
    if (value == to_string(kind)) return kind;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("column '{}' has the kind {}, but bytes, floats and integers exist",
                          column, value.dump()))
      .at_file(file);
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = trimmed(text);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.size() > 1 && digits.starts_with('0')) return std::nullopt;
  return parse_whole<std::int64_t>(text);
}

std::optional<float> parse_float(std::string_view text) {
  text = trimmed(text);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') {
    return std::nullopt;
  }
  const auto value = parse_whole<double>(text);
  if (!value) return std::nullopt;
  return static_cast<float>(*value);
}

void KindGuess::see(std::string_view text) {
  seen_ = true;
  all_integers_ = all_integers_ && parse_integer(text).has_value();
  all_floats_ = all_floats_ && parse_float(text).has_value();
}

FeatureKind KindGuess::kind() const {
  if (!seen_) return FeatureKind::bytes;
  if (all_integers_) return FeatureKind::integers;
  return all_floats_ ? FeatureKind::floats : FeatureKind::bytes;
}

ColumnKinds read_schema(const std::string& file) {
  const auto json = nlohmann::json::parse(read_file(file), nullptr, false);
  if (!json.is_object() || !json.contains("columns") || !json["columns"].is_object()) {
    throw Error(ErrorCode::invalid_argument,
                R"(a schema is JSON like {"columns": {"age": "integers", "note": "bytes"}})")
        .at_file(file);
  }
  ColumnKinds kinds;
  for (const auto& [column, kind] : json["columns"].items()) {
    kinds[column] = parse_kind(column, kind, file);
  }
  return kinds;
}

}  // namespace infeed::tools
