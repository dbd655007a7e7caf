#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/example.h>

#include "example.pb.h"
#include "records/columns/plain_rows.h"

/// Records as libprotobuf reads them, in the form that plain_rows.h takes.
namespace infeed::test {

class ReferenceView {
 public:
  ReferenceView() = default;
  explicit ReferenceView(const reference::Feature& feature) : feature_(&feature) {}

  bool is_present() const {
    return feature_ != nullptr && feature_->kind_case() != reference::Feature::KIND_NOT_SET;
  }
  FeatureKind kind() const {
    if (feature_->has_bytes_list()) return FeatureKind::bytes;
    return feature_->has_float_list() ? FeatureKind::floats : FeatureKind::integers;
  }
  std::size_t count() const {
    const int size = feature_->has_bytes_list()   ? feature_->bytes_list().value_size()
                     : feature_->has_float_list() ? feature_->float_list().value_size()
                                                  : feature_->int64_list().value_size();
    return static_cast<std::size_t>(size);
  }
  void append_bytes(std::vector<std::string_view>& out) const {
    for (const std::string& value : feature_->bytes_list().value()) out.push_back(value);
  }
  void append_floats(std::vector<float>& out) const {
    const auto& values = feature_->float_list().value();
    out.insert(out.end(), values.begin(), values.end());
  }
  void append_integers(std::vector<std::int64_t>& out) const {
    const auto& values = feature_->int64_list().value();
    out.insert(out.end(), values.begin(), values.end());
  }

 private:
  const reference::Feature* feature_ = nullptr;
};

/// A record; not valid if libprotobuf refuses its bytes.
class ReferenceRecord {
 public:
  enum class Message { example, sequence_example };

  ReferenceRecord(std::string_view bytes, Message message)
      : is_valid_(message == Message::example
                      ? example_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))
                      : sequence_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))),
        features_(message == Message::example ? example_.features() : sequence_.context()) {}
  ReferenceRecord(const ReferenceRecord&) = delete;
  ReferenceRecord& operator=(const ReferenceRecord&) = delete;

  bool is_valid() const { return is_valid_; }
  /// Returns the feature, not present if there is none of the name; the record outlives it.
  ReferenceView feature(const std::string& name) const {
    const auto found = features_.feature().find(name);
    if (found == features_.feature().end()) return {};
    return ReferenceView(found->second);
  }
  /// Returns nothing if there is no list of the name.
  std::optional<std::vector<ReferenceView>> steps(const std::string& name) const {
    const auto& lists = sequence_.feature_lists().feature_list();
    const auto found = lists.find(name);
    if (found == lists.end()) return std::nullopt;
    std::vector<ReferenceView> views;
    for (const reference::Feature& step : found->second.feature()) views.emplace_back(step);
    return views;
  }

 private:
  reference::Example example_;
  reference::SequenceExample sequence_;
  bool is_valid_;
  const reference::Features& features_;
};

/// Returns libprotobuf's row for a record, or nothing if the schema refuses it.
inline std::optional<std::vector<PlainRow>> reference_row(const ColumnSchema& schema,
                                                          const ReferenceRecord& record) {
  std::vector<PlainRow> row;
  for (const ColumnType& type : schema.columns()) {
    std::optional<PlainRow> plain;
    if (type.source == ColumnSource::feature_list) {
      plain = plain_row_of_steps(type, record.steps(type.name));
    } else if (type.partition) {
      const ReferenceView partition =
          record.feature(std::visit([](const auto& by) { return by.feature; }, *type.partition));
      plain = plain_row(type, record.feature(type.name), &partition);
    } else {
      plain = plain_row(type, record.feature(type.name));
    }
    if (!plain) return std::nullopt;
    row.push_back(std::move(*plain));
  }
  return row;
}

/// Returns the message type for the schema's records.
inline ReferenceRecord::Message message_of_schema(const ColumnSchema& schema) {
  const bool has_lists =
      std::any_of(schema.columns().begin(), schema.columns().end(),
                  [](const ColumnType& type) { return type.source == ColumnSource::feature_list; });
  return has_lists ? ReferenceRecord::Message::sequence_example : ReferenceRecord::Message::example;
}

}  // namespace infeed::test
