#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "infeed/records/detail/schema_fields.h"
#include "infeed/records/detail/visit_fields.h"
#include "infeed/records/example.h"
#include "infeed/records/record.h"

namespace infeed::detail {

/// The fields of a schema, and the parser that finds their features.
template <class T>
class FieldList {
 public:
  using Field = SchemaField<T>;

  void add(std::shared_ptr<const Field> field) {
    const std::vector<std::string> wanted = field->wanted();
    FieldViews views{parser_.want(wanted[0])};
    if (wanted.size() > 1) views.partition = want_partition(wanted[1]);
    views_.push_back(views);
    fields_.push_back(std::move(field));
  }

  const std::vector<std::shared_ptr<const Field>>& all() const { return fields_; }
  std::size_t size() const { return fields_.size(); }
  const Field& operator[](std::size_t i) const { return *fields_[i]; }
  const std::vector<std::string>& names() const { return parser_.names(); }

  template <class Bytes>
  void decode(const Bytes& example, T& object) const {
    const ListSource source = {record_of(example)};
    const auto decode_list = [&](const Field& field, std::size_t, auto kind, auto list) {
      return field.decode_list(kind, list, source, object);
    };
    if (with_lists(bytes_of(example), decode_list)) return;
    with_views(example, [&](const Field& field, std::size_t, const FeatureView& view) {
      field.decode(view, bytes_of(example), object);
    });
  }

  /// Parses a row as ExampleSchema::parse_row does.
  void parse_row(const Record& record, std::size_t row, std::span<void* const> columns,
                 LateCopy* late) const {
    const ListSource source = {&record, late};
    const auto assign_list = [&](const Field& field, std::size_t i, auto kind, auto list) {
      return field.decode_list_at(kind, list, source, columns[i], row);
    };
    const auto assign = [&](const Field& field, std::size_t i, const FeatureView& view) {
      field.decode_at(view, record.bytes(), columns[i], row);
    };
    try {
      if (columns.size() != fields_.size()) fail_columns(columns.size(), names());
      if (with_lists(record.bytes(), assign_list)) return;
      if (late != nullptr) late->forget();
      with_views(record, assign);
    } catch (...) {
      rethrow_with_place(record);
    }
  }

  /// Appends a row as ExampleSchema::append_row does.
  void append_row(const Record& record, std::size_t row, std::span<void* const> columns,
                  LateCopy* late) const {
    if (columns.size() != fields_.size()) fail_columns(columns.size(), names());
    const ListSource source = {&record, late};
    const auto append_list = [&](const Field& field, std::size_t i, auto kind, auto list) {
      return field.append_list(kind, list, source, columns[i]);
    };
    try {
      if (with_lists(record.bytes(), append_list)) return;
      if (late != nullptr) late->forget();
      truncate(columns, row);
      with_views(record, [&](const Field& field, std::size_t i, const FeatureView& view) {
        field.append(view, record.bytes(), columns[i]);
      });
    } catch (...) {
      truncate(columns, row);
      rethrow_with_place(record);
    }
  }

  void truncate(std::span<void* const> columns, std::size_t rows) const {
    for (std::size_t i = 0; i < fields_.size(); ++i) fields_[i]->truncate(columns[i], rows);
  }

 private:
  /// Returns the place of a partition's view. Several fields may share it.
  std::size_t want_partition(const std::string& name) {
    for (const FieldViews& views : views_) {
      if (views.partition && parser_.names()[*views.partition] == name) return *views.partition;
    }
    has_partitions_ = true;
    return parser_.want(name);
  }

  template <class Bytes, class Visitor>
  void with_views(const Bytes& example, Visitor&& visit) const {
    visit_fields<T>(parser_, example, fields_, views_, visit);
  }
  template <class Visitor>
  bool with_lists(std::string_view example, Visitor&& visit) const {
    return !has_partitions_ && visit_usual_fields<T>(parser_, example, fields_, visit);
  }

  ExampleParser parser_;
  std::vector<std::shared_ptr<const Field>> fields_;
  std::vector<FieldViews> views_;  ///< by field
  bool has_partitions_ = false;    ///< the parser finds other features than the fields'
};

}  // namespace infeed::detail
