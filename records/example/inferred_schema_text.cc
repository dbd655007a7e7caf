#include <algorithm>
#include <fmt/format.h>

#include "infeed/detail/printable_text.h"
#include "infeed/records/inferred_schema.h"

namespace infeed {
namespace {

std::string describe_range(const ValueRange& range, std::string_view one, std::string_view many) {
  if (range.is_empty()) return fmt::format("no {}", many);
  if (!range.is_one_value()) return fmt::format("{} to {} {}", range.min, range.max, many);
  return fmt::format("{} {}", range.min, range.min == 1 ? one : many);
}

std::string describe_values(const InferredFeature& feature) {
  std::string text = describe_range(feature.value_count, "value", "values");
  if (!feature.value_bytes.is_empty()) {
    text += " of " + describe_range(feature.value_bytes, "byte", "bytes");
  }
  return text;
}

std::string_view kind_of(const InferredFeature& feature) {
  return feature.kind ? to_string(*feature.kind) : "none";
}

std::string describe_presence(std::uint64_t examples, std::uint64_t all, std::uint64_t other_kinds,
                              std::string_view noun) {
  std::string text;
  if (examples + other_kinds < all) text += fmt::format("; in {} {}", examples + other_kinds, noun);
  if (other_kinds != 0) text += fmt::format("; of another kind in {}", other_kinds);
  return text;
}

std::string json_string(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const std::size_t size = detail::utf8_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (size == 0 || first < 0x20 || first == 0x7f) {
      json += fmt::format("\\u{:04x}", first);
    } else {
      if (first == '"' || first == '\\') json += '\\';
      json += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return json + '"';
}

std::string json_range(std::string_view name, const ValueRange& range) {
  if (range.is_empty()) return {};
  return fmt::format(",\"{}_min\":{},\"{}_max\":{}", name, range.min, name, range.max);
}

/// Returns the fields that a feature and the steps of a list have in common.
std::string json_values(const InferredFeature& feature) {
  const std::string kind =
      feature.kind ? fmt::format("\"{}\"", to_string(*feature.kind)) : std::string("null");
  return fmt::format("\"kind\":{},\"other_kinds\":{},\"values\":{}{}{},\"is_fixed_length\":{}",
                     kind, feature.other_kinds, feature.values,
                     json_range("value_count", feature.value_count),
                     json_range("value_bytes", feature.value_bytes), feature.is_fixed_length());
}

}  // namespace

std::string InferredSchema::to_text() const {
  const std::uint64_t examples = records - opaque_records;
  std::string text = fmt::format("{} records of {} are {}\n", examples, records,
                                 lists.empty() ? "Examples" : "SequenceExamples");
  // Longer names push their line to the right: a name of a megabyte must not widen every line.
  constexpr std::size_t kWidthMax = 64;
  std::size_t width = 0;
  for (const InferredFeature& feature : features) width = std::max(width, feature.name.size());
  for (const InferredFeatureList& list : lists) width = std::max(width, list.name.size());
  width = std::min(width, kWidthMax);
  for (const InferredFeature& feature : features) {
    text += fmt::format(
        "  {:<{}}  {:<8}  {}{}\n", feature.name, width, kind_of(feature), describe_values(feature),
        describe_presence(feature.examples, examples, feature.other_kinds, "records"));
  }
  for (const InferredFeatureList& list : lists) {
    const std::string steps = describe_range(list.step_count, "step", "steps");
    text += fmt::format("  {:<{}}  {:<8}  {} of {}{}{}\n", list.name, width, kind_of(list.steps),
                        steps, describe_values(list.steps),
                        describe_presence(list.examples, examples, 0, "records"),
                        list.steps.other_kinds == 0
                            ? std::string()
                            : fmt::format("; {} steps of another kind", list.steps.other_kinds));
  }
  return text;
}

std::string InferredSchema::to_json() const {
  std::string json =
      fmt::format("{{\"records\":{},\"opaque_records\":{},\"features\":[", records, opaque_records);
  for (std::size_t i = 0; i < features.size(); ++i) {
    const InferredFeature& feature = features[i];
    json += fmt::format("{}{{\"name\":{},\"examples\":{},{}}}", i == 0 ? "" : ",",
                        json_string(feature.name), feature.examples, json_values(feature));
  }
  json += "],\"feature_lists\":[";
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const InferredFeatureList& list = lists[i];
    json += fmt::format("{}{{\"name\":{},\"examples\":{}{},{}}}", i == 0 ? "" : ",",
                        json_string(list.name), list.examples,
                        json_range("step_count", list.step_count), json_values(list.steps));
  }
  return json + "]}";
}

}  // namespace infeed
