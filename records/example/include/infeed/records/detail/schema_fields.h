#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "infeed/records/detail/feature_codec.h"
#include "infeed/records/detail/row_column.h"
#include "infeed/records/detail/usual_form.h"
#include "infeed/records/example.h"

/// The fields of a schema: one a member, behind an interface that doesn't know the member's type.
namespace infeed::detail {

template <class T, class M>
std::size_t member_offset(M T::*member) {
  // Takes the address of a member inside memory that holds no object. It is never read.
  alignas(T) static std::byte place[sizeof(T)];
  const auto* const at = &(reinterpret_cast<T*>(place)->*member);
  return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(at) - place);
}

/// Describes one element of a column.
struct SchemaColumn {
  std::string_view name;
  std::size_t offset_bytes;  ///< offset of the member within T
  std::size_t size_bytes;
  std::size_t alignment;
};

/// Reads and writes one member of T. A field that wants several features finds their views behind
/// the given one.
template <class T>
struct SchemaField {
  virtual ~SchemaField() = default;
  virtual void decode(const FeatureView& view, std::string_view example, T& object) const = 0;
  virtual void decode_at(const FeatureView& view, std::string_view example, void* column,
                         std::size_t row) const = 0;
  virtual void append(const FeatureView& view, std::string_view example, void* column) const = 0;
  /// Read the only list of a feature in the usual form (usual_form.h). Where they return false, the
  /// functions above must do it.
  virtual bool decode_list(FeatureKind, std::string_view, const ListSource&, T&) const {
    return false;
  }
  virtual bool decode_list_at(FeatureKind, std::string_view, const ListSource&, void*,
                              std::size_t) const {
    return false;
  }
  virtual bool append_list(FeatureKind, std::string_view, const ListSource&, void*) const {
    return false;
  }
  virtual void truncate(void* column, std::size_t rows) const = 0;
  virtual SchemaColumn column() const = 0;
  virtual bool is_expected() const = 0;
  virtual void encode(const T& object, ExampleBuilder& builder) const = 0;
  /// Names of the features that the field wants, in order.
  virtual std::vector<std::string> wanted() const = 0;
  /// Returns the same field with `prefix` before the names of its features.
  virtual std::shared_ptr<const SchemaField> prefixed(const std::string& prefix) const = 0;
};

template <class T, class M>
struct MemberField final : SchemaField<T> {
  MemberField(std::string field_name, M T::*field_member, std::optional<M> value_if_missing)
      : name(std::move(field_name)), member(field_member), missing(std::move(value_if_missing)) {}

  void decode(const FeatureView& view, std::string_view example, T& object) const override {
    decode_value(view, example, object.*member);
  }
  void decode_at(const FeatureView& view, std::string_view example, void* column,
                 std::size_t row) const override {
    decode_value(view, example, static_cast<M*>(column)[row]);
  }
  void append(const FeatureView& view, std::string_view example, void* column) const override {
    auto& rows = *static_cast<RowColumn<M>*>(column);
    if (takes_missing(view, example)) {
      rows.append(*missing);
    } else {
      rows.append_feature(view);
    }
  }
  bool decode_list(FeatureKind kind, std::string_view list, const ListSource& source,
                   T& object) const override {
    return UsualForm<M>::read(kind, list, source, object.*member);
  }
  bool decode_list_at(FeatureKind kind, std::string_view list, const ListSource& source,
                      void* column, std::size_t row) const override {
    return UsualForm<M>::read(kind, list, source, static_cast<M*>(column)[row]);
  }
  bool append_list(FeatureKind kind, std::string_view list, const ListSource& source,
                   void* column) const override {
    return static_cast<RowColumn<M>*>(column)->append_usual(kind, list, source);
  }
  void truncate(void* column, std::size_t rows) const override {
    static_cast<RowColumn<M>*>(column)->truncate(rows);
  }
  SchemaColumn column() const override {
    return {name, member_offset(member), sizeof(M), alignof(M)};
  }
  bool is_expected() const override {
    return kIsVector<M> && FeatureCodec<M>::kMayBeMissing && !missing;
  }
  /// True if `missing` stands in for the feature. Throws when the feature is missing and nothing
  /// can.
  bool takes_missing(const FeatureView& view, std::string_view example) const {
    if (missing && is_missing_or_empty(view)) return true;
    if (!view.is_present() && !FeatureCodec<M>::kMayBeMissing) {
      fail_missing(view, example);
    }
    return false;
  }
  void decode_value(const FeatureView& view, std::string_view example, M& value) const {
    if (takes_missing(view, example)) {
      value = *missing;
    } else {
      FeatureCodec<M>::decode(view, value);
    }
  }
  void encode(const T& object, ExampleBuilder& builder) const override {
    FeatureCodec<M>::encode(name, object.*member, builder);
  }
  std::vector<std::string> wanted() const override { return {name}; }
  std::shared_ptr<const SchemaField<T>> prefixed(const std::string& prefix) const override {
    return std::make_shared<const MemberField>(prefix + name, member, missing);
  }

  std::string name;
  M T::*member;
  std::optional<M> missing;
};

template <class T, class V>
struct RaggedField final : SchemaField<T> {
  using M = std::vector<std::vector<V>>;

  RaggedField(std::string field_name, M T::*field_member, std::string partition_name,
              bool partition_has_splits, std::optional<M> value_if_missing)
      : name(std::move(field_name)),
        member(field_member),
        partition(std::move(partition_name)),
        has_splits(partition_has_splits),
        missing(std::move(value_if_missing)) {}

  void decode(const FeatureView& view, std::string_view, T& object) const override {
    if (takes_missing(view)) {
      object.*member = *missing;
      return;
    }
    std::vector<V> flat;
    FeatureCodec<std::vector<V>>::decode(view, flat);
    M& rows = object.*member;
    rows.clear();
    std::size_t begin = 0;
    for (const std::size_t end : ends(view, flat.size())) {
      std::vector<V>& row = rows.emplace_back();
      for (; begin < end; ++begin) row.push_back(std::move(flat[begin]));
    }
  }
  void decode_at(const FeatureView& view, std::string_view example, void* column,
                 std::size_t row) const override {
    T object{};
    decode(view, example, object);
    static_cast<M*>(column)[row] = std::move(object.*member);
  }
  void append(const FeatureView& view, std::string_view, void* column) const override {
    auto& rows = *static_cast<RowColumn<M>*>(column);
    if (takes_missing(view)) {
      rows.append(*missing);
      return;
    }
    const std::size_t begin = rows.values.size();
    append_values(view, rows.values);
    for (const std::size_t end : ends(view, rows.values.size() - begin)) {
      rows.inner_splits.push_back(static_cast<std::int64_t>(begin + end));
    }
    rows.row_splits.push_back(static_cast<std::int64_t>(rows.inner_splits.size() - 1));
  }
  void truncate(void* column, std::size_t rows) const override {
    static_cast<RowColumn<M>*>(column)->truncate(rows);
  }
  SchemaColumn column() const override {
    return {name, member_offset(member), sizeof(M), alignof(M)};
  }
  bool is_expected() const override { return !missing; }
  bool takes_missing(const FeatureView& view) const {
    return missing && !view.is_present() && !(&view)[1].is_present();
  }
  void encode(const T& object, ExampleBuilder& builder) const override {
    std::vector<V> flat;
    std::vector<std::int64_t> cuts;
    if (has_splits) cuts.push_back(0);
    for (const std::vector<V>& row : object.*member) {
      flat.insert(flat.end(), row.begin(), row.end());
      cuts.push_back(static_cast<std::int64_t>(has_splits ? flat.size() : row.size()));
    }
    FeatureCodec<std::vector<V>>::encode(name, flat, builder);
    builder.partition(partition, cuts);
  }
  std::vector<std::string> wanted() const override { return {name, partition}; }
  std::shared_ptr<const SchemaField<T>> prefixed(const std::string& prefix) const override {
    return std::make_shared<const RaggedField>(prefix + name, member, prefix + partition,
                                               has_splits, missing);
  }
  /// Returns the ends of the inner sequences. The partition's view stands right behind that of the
  /// values.
  std::vector<std::size_t> ends(const FeatureView& view, std::size_t values) const {
    return ends_of_rows((&view)[1], has_splits, view, values);
  }

  std::string name;
  M T::*member;
  std::string partition;
  bool has_splits;
  std::optional<M> missing;
};

}  // namespace infeed::detail
