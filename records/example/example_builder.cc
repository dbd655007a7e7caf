#include <algorithm>
#include <fmt/format.h>
#include <string>

#include "example/wire_writing.h"
#include "infeed/error.h"
#include "infeed/records/example.h"

namespace infeed {
namespace {

using detail::append_field;
using detail::append_varint;
using detail::field_size;
using detail::kFirstField;
using detail::kSecondField;
using detail::varint_size;

char list_tag(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::bytes:
      return detail::make_tag(1, detail::kLengthDelimited);
    case FeatureKind::floats:
      return detail::make_tag(2, detail::kLengthDelimited);
    case FeatureKind::integers:
      return detail::make_tag(3, detail::kLengthDelimited);
  }
  return 0;
}

}  // namespace

std::string_view to_string(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::bytes:
      return "bytes";
    case FeatureKind::floats:
      return "floats";
    case FeatureKind::integers:
      return "integers";
  }
  return "unknown";
}

void ExampleBuilder::begin_feature(std::string_view name) {
  const std::size_t name_begin = scratch_.size();
  scratch_.append(name);
  features_.push_back({name_begin, scratch_.size(), 0});
}

/// Ends a list whose content was appended since `list_begin`: puts tag and length in front of it.
void ExampleBuilder::end_feature(FeatureKind kind, std::size_t list_begin) {
  const std::size_t size = scratch_.size() - list_begin;
  std::string head(1, list_tag(kind));
  append_varint(head, size);
  scratch_.insert(list_begin, head);
  features_.back().end = scratch_.size();
}

ExampleBuilder& ExampleBuilder::bytes(std::string_view name, std::string_view value) {
  return bytes(name, std::span<const std::string_view>(&value, 1));
}

ExampleBuilder& ExampleBuilder::bytes(std::string_view name,
                                      std::span<const std::string_view> values) {
  begin_feature(name);
  std::size_t size = 0;
  for (const std::string_view value : values) size += field_size(value.size());
  scratch_.push_back(list_tag(FeatureKind::bytes));
  append_varint(scratch_, size);
  for (const std::string_view value : values) {
    append_field(scratch_, kFirstField, value);
  }
  features_.back().end = scratch_.size();
  return *this;
}

ExampleBuilder& ExampleBuilder::bytes(std::string_view name, std::span<const std::string> values) {
  const std::vector<std::string_view> views(values.begin(), values.end());
  return bytes(name, std::span<const std::string_view>(views));
}

ExampleBuilder& ExampleBuilder::floats(std::string_view name, float value) {
  return floats(name, std::span<const float>(&value, 1));
}

ExampleBuilder& ExampleBuilder::floats(std::string_view name, std::span<const float> values) {
  begin_feature(name);
  scratch_.push_back(list_tag(FeatureKind::floats));
  append_varint(scratch_, values.empty() ? 0 : field_size(values.size_bytes()));
  if (!values.empty()) {
    scratch_.push_back(kFirstField);
    append_varint(scratch_, values.size_bytes());
    scratch_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  features_.back().end = scratch_.size();
  return *this;
}

ExampleBuilder& ExampleBuilder::integers(std::string_view name, std::int64_t value) {
  return integers(name, std::span<const std::int64_t>(&value, 1));
}

ExampleBuilder& ExampleBuilder::integers(std::string_view name,
                                         std::span<const std::int64_t> values) {
  begin_feature(name);
  const std::size_t list_begin = scratch_.size();
  if (!values.empty()) {
    std::size_t size = 0;
    for (const std::int64_t value : values) size += varint_size(static_cast<std::uint64_t>(value));
    scratch_.push_back(kFirstField);
    append_varint(scratch_, size);
    for (const std::int64_t value : values) {
      append_varint(scratch_, static_cast<std::uint64_t>(value));
    }
  }
  end_feature(FeatureKind::integers, list_begin);
  return *this;
}

ExampleBuilder& ExampleBuilder::partition(std::string_view name,
                                          std::span<const std::int64_t> cuts) {
  integers(name, cuts);
  const std::string_view scratch = scratch_;
  const Feature added = features_.back();
  const std::size_t name_bytes = added.value_begin - added.name_begin;
  for (const Feature& other : std::span(features_).first(features_.size() - 1)) {
    if (other.value_begin - other.name_begin != name_bytes) continue;
    if (scratch.substr(other.name_begin, name_bytes) != name) continue;
    const bool is_same = scratch.substr(other.value_begin, other.end - other.value_begin) ==
                         scratch.substr(added.value_begin, added.end - added.value_begin);
    features_.pop_back();
    scratch_.resize(added.name_begin);
    if (is_same) return *this;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("feature '{}' can't cut several features into inner sequences of "
                            "different lengths; give each of them a partition of its own",
                            name));
  }
  return *this;
}

std::string ExampleBuilder::encode() const {
  std::string out;
  encode_to(out);
  return out;
}

void ExampleBuilder::encode_to(std::string& out) const {
  const std::string_view scratch = scratch_;
  const auto name_of = [scratch](const Feature& feature) {
    return scratch.substr(feature.name_begin, feature.value_begin - feature.name_begin);
  };
  std::vector<Feature> sorted = features_;
  std::sort(sorted.begin(), sorted.end(),
            [&name_of](const Feature& a, const Feature& b) { return name_of(a) < name_of(b); });
  const auto entry_size = [&name_of](const Feature& feature) {
    return field_size(name_of(feature).size()) + field_size(feature.end - feature.value_begin);
  };
  std::size_t size = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && name_of(sorted[i - 1]) == name_of(sorted[i])) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("feature '{}' was given twice", name_of(sorted[i])));
    }
    size += field_size(entry_size(sorted[i]));
  }
  out.clear();
  out.reserve(field_size(size));
  out.push_back(kFirstField);
  append_varint(out, size);
  for (const Feature& feature : sorted) {
    const std::string_view value =
        scratch.substr(feature.value_begin, feature.end - feature.value_begin);
    out.push_back(kFirstField);
    append_varint(out, entry_size(feature));
    append_field(out, kFirstField, name_of(feature));
    append_field(out, kSecondField, value);
  }
}

void ExampleBuilder::clear() {
  scratch_.clear();
  features_.clear();
}

}  // namespace infeed
