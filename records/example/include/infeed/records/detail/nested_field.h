#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "infeed/records/detail/schema_fields.h"

namespace infeed::detail {

/// A field inside a member that is a struct itself.
template <class T, class Inner>
struct NestedField final : SchemaField<T> {
  NestedField(Inner T::*outer_member, std::shared_ptr<const SchemaField<Inner>> inner_field)
      : member(outer_member), field(std::move(inner_field)) {}

  void decode(const FeatureView& view, std::string_view example, T& object) const override {
    field->decode(view, example, object.*member);
  }
  void decode_at(const FeatureView& view, std::string_view example, void* column,
                 std::size_t row) const override {
    field->decode_at(view, example, column, row);
  }
  void append(const FeatureView& view, std::string_view example, void* column) const override {
    field->append(view, example, column);
  }
  bool decode_list(FeatureKind kind, std::string_view list, const ListSource& source,
                   T& object) const override {
    return field->decode_list(kind, list, source, object.*member);
  }
  bool decode_list_at(FeatureKind kind, std::string_view list, const ListSource& source,
                      void* column, std::size_t row) const override {
    return field->decode_list_at(kind, list, source, column, row);
  }
  bool append_list(FeatureKind kind, std::string_view list, const ListSource& source,
                   void* column) const override {
    return field->append_list(kind, list, source, column);
  }
  void truncate(void* column, std::size_t rows) const override { field->truncate(column, rows); }
  SchemaColumn column() const override {
    SchemaColumn inner = field->column();
    inner.offset_bytes += member_offset(member);
    return inner;
  }
  bool is_expected() const override { return field->is_expected(); }
  void encode(const T& object, ExampleBuilder& builder) const override {
    field->encode(object.*member, builder);
  }
  std::vector<std::string> wanted() const override { return field->wanted(); }
  std::shared_ptr<const SchemaField<T>> prefixed(const std::string& prefix) const override {
    return std::make_shared<const NestedField>(member, field->prefixed(prefix));
  }

  Inner T::*member;
  std::shared_ptr<const SchemaField<Inner>> field;
};

}  // namespace infeed::detail
