#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "infeed/records/detail/feature_codec.h"
#include "infeed/records/detail/row_column.h"
#include "infeed/records/detail/schema_fields.h"
#include "infeed/records/sequence_example.h"

/// The feature lists of a schema of SequenceExamples.
namespace infeed::detail {

[[noreturn]] void fail_missing_list(const FeatureListView& list, std::string_view example);

/// The element type of a member that a feature list can fill.
template <class M>
struct ListElement {
  using type = void;
};
template <class E>
struct ListElement<std::vector<E>> {
  using type = E;
};
template <class E>
struct ListElement<std::optional<std::vector<E>>> {
  using type = E;
};

template <class E>
void decode_list(const FeatureListView& list, std::vector<E>& out) {
  out.clear();
  FeatureSteps steps(list);
  for (FeatureView step; steps.next(step);) {
    require_step<E>(step);
    E value{};
    FeatureCodec<E>::decode(step, value);
    out.push_back(std::move(value));
  }
}

/// Views of one record; on the stack if they are few.
template <class View>
class ViewBuffer {
 public:
  explicit ViewBuffer(std::size_t size) : size_(size), many_(size > few_.size() ? size : 0) {}
  std::span<View> views() {
    return many_.empty() ? std::span(few_).first(size_) : std::span(many_);
  }

 private:
  const std::size_t size_;
  std::array<View, 8> few_;
  std::vector<View> many_;
};

/// Reads and writes one member of T.
template <class T>
struct SchemaList {
  virtual ~SchemaList() = default;
  virtual void decode(const FeatureListView& list, std::string_view example, T& object) const = 0;
  virtual void append(const FeatureListView& list, std::string_view example,
                      void* column) const = 0;
  virtual void truncate(void* column, std::size_t rows) const = 0;
  virtual SchemaColumn column() const = 0;
  virtual bool is_expected() const = 0;
  virtual void encode(const T& object, SequenceExampleBuilder& builder) const = 0;
};

template <class T, class M>
struct MemberList final : SchemaList<T> {
  using Element = typename ListElement<M>::type;
  static constexpr bool kIsOptional = !std::is_same_v<M, std::vector<Element>>;

  MemberList(std::string list_name, M T::*list_member, bool allow_missing)
      : name(std::move(list_name)),
        member(list_member),
        is_optional(allow_missing || kIsOptional),
        may_be_missing(is_optional || FeatureCodec<Element>::kMayBeMissing) {}

  void decode(const FeatureListView& list, std::string_view example, T& object) const override {
    if (!list.is_present() && !may_be_missing) fail_missing_list(list, example);
    if constexpr (kIsOptional) {
      M& value = object.*member;
      value.reset();
      if (list.is_present()) decode_list(list, value.emplace());
    } else {
      decode_list(list, object.*member);
    }
  }
  void append(const FeatureListView& list, std::string_view example, void* column) const override {
    if (!list.is_present() && !may_be_missing) fail_missing_list(list, example);
    auto& rows = *static_cast<RowColumn<M>*>(column);
    if constexpr (kIsOptional) {
      M value;
      if (list.is_present()) decode_list(list, value.emplace());
      rows.append(std::move(value));
    } else {
      rows.append_list(list);
    }
  }
  void truncate(void* column, std::size_t rows) const override {
    static_cast<RowColumn<M>*>(column)->truncate(rows);
  }
  SchemaColumn column() const override {
    return {name, member_offset(member), sizeof(M), alignof(M)};
  }
  bool is_expected() const override { return may_be_missing && !is_optional; }
  void encode(const T& object, SequenceExampleBuilder& builder) const override {
    if constexpr (kIsOptional) {
      if (object.*member) encode_steps(*(object.*member), builder.list(name));
    } else {
      encode_steps(object.*member, builder.list(name));
    }
  }
  static void encode_steps(const std::vector<Element>& values, FeatureListBuilder& steps) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      steps.template encoded<FeatureCodec<Element>, Element>(values[i]);
    }
  }

  std::string name;
  M T::*member;
  bool is_optional;
  bool may_be_missing;
};

}  // namespace infeed::detail
