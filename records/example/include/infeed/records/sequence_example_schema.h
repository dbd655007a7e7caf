#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "infeed/records/detail/schema_lists.h"
#include "infeed/records/example_schema.h"
#include "infeed/records/sequence_example.h"

/// Why: an ExampleSchema for tf.train.SequenceExample. Members belong to features of the context or
/// to feature lists.
///
///     struct Clip { std::int64_t label; std::vector<std::string> frames; };
///
///     const auto schema = infeed::SequenceExampleSchema<Clip>()
///                             .context("label", &Clip::label)
///                             .list("frames", &Clip::frames);
///     Clip clip = schema.parse(record);
///     std::string bytes = schema.encode(clip);
///
/// A context feature fills any member in ExampleSchema's table. A list fills a std::vector<M>, one
/// M a step, where M is again any type in that table:
///
/// | M                                        | each step holds        | in TensorFlow            |
/// |------------------------------------------|------------------------|--------------------------|
/// | a number, a std::string, a Record        | one value              | FixedLenSequenceFeature  |
/// | std::array<N> of numbers or std::string  | N values               | FixedLenSequenceFeature  |
/// | std::array, std::vector of uint8_t, byte | one value of bytes     | FixedLenSequenceFeature  |
/// | std::vector of numbers or std::string    | any number of values   | VarLen- or RaggedFeature |
///
/// A missing list is an error, as in TensorFlow, except in three cases. If its steps hold any
/// number of values, or with {.allow_missing = true}, it counts as empty. A
/// std::optional<std::vector<M>> gets no value.
///
/// Vectors of the context without a default, and lists of steps of any length without
/// {.allow_missing = true}, may be missing without having been declared so. At least one record of
/// many must have each of them: see expected() and pipeline/parse.h.
///
/// Errors name feature or list, step, and (for a Record) file, offset and record. Thread-safety:
/// immutable once built; cheap to copy.
namespace infeed {

struct FeatureListOptions {
  bool allow_missing = false;
};

template <class T>
class SequenceExampleSchema {
 public:
  using Column = typename ExampleSchema<T>::Column;

  template <class M>
  SequenceExampleSchema& context(std::string name, M T::*member) {
    return add_context<M>(std::move(name), member, std::nullopt);
  }
  /// Sets the member to `missing` when the context does not have the feature.
  template <class M>
  SequenceExampleSchema& context(std::string name, M T::*member, std::type_identity_t<M> missing) {
    return add_context<M>(std::move(name), member, std::move(missing));
  }
  template <class M>
  SequenceExampleSchema& list(std::string name, M T::*member, FeatureListOptions options = {}) {
    using Element = typename detail::ListElement<M>::type;
    static_assert(!std::is_void_v<Element>,
                  "infeed: a feature list fills a std::vector, one element a step; see the table "
                  "in sequence_example_schema.h");
    static_assert(detail::kHasFeatureCodec<Element>,
                  "infeed: no feature can fill an element of this vector; see the table in "
                  "sequence_example_schema.h, or specialise infeed::FeatureCodec for it");
    parser_.want_list(name);
    lists_.push_back(std::make_shared<const detail::MemberList<T, M>>(std::move(name), member,
                                                                      options.allow_missing));
    return *this;
  }

  T parse(const Record& record) const {
    T object{};
    parse(record, object);
    return object;
  }
  T parse(std::string_view example) const {
    T object{};
    parse(example, object);
    return object;
  }
  /// Parses into an existing object. Members without a feature or list stay as they are.
  void parse(const Record& record, T& object) const {
    try {
      parse_into(record, object);
    } catch (...) {
      detail::rethrow_with_place(record);
    }
  }
  void parse(std::string_view example, T& object) const { parse_into(example, object); }

  /// Appends a row as ExampleSchema::append_row does: columns[i] is the RowColumn<M> of
  /// columns()[i], with `row` rows.
  void append_row(const Record& record, std::size_t row, std::span<void* const> columns) const {
    const std::size_t contexts = context_.fields_.size();
    if (columns.size() != contexts + lists_.size()) detail::fail_columns(columns.size(), names());
    try {
      with_views(
          record,
          [&](std::size_t i, const FeatureView& view) {
            context_.fields_[i].append(view, record.bytes(), columns[i]);
          },
          [&](std::size_t i, const FeatureListView& list) {
            lists_[i]->append(list, record.bytes(), columns[contexts + i]);
          });
    } catch (...) {
      context_.fields_.truncate(columns.first(contexts), row);
      for (std::size_t i = 0; i < lists_.size(); ++i) {
        lists_[i]->truncate(columns[contexts + i], row);
      }
      detail::rethrow_with_place(record);
    }
  }

  /// Columns of the context, then those of the lists.
  std::vector<Column> columns() const {
    std::vector<Column> result = context_.columns();
    for (const auto& list : lists_) result.push_back(list->column());
    return result;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result = parser_.context_names();
    result.insert(result.end(), parser_.list_names().begin(), parser_.list_names().end());
    return result;
  }

  ExpectedFeatures expected() const {
    ExpectedFeatures expected = context_.expected();
    expected.of_sequences = true;
    for (const auto& list : lists_) {
      if (list->is_expected()) expected.lists.emplace_back(list->column().name);
    }
    return expected;
  }

  std::string encode(const T& object) const {
    SequenceExampleBuilder builder;
    for (const auto& field : context_.fields_.all()) field->encode(object, builder.context());
    for (const auto& list : lists_) list->encode(object, builder);
    return builder.encode();
  }

 private:
  using List = detail::SchemaList<T>;

  template <class M>
  SequenceExampleSchema& add_context(std::string name, M T::*member, std::optional<M> missing) {
    context_.template add<M>(name, member, std::move(missing));
    parser_.want_context(std::move(name));
    return *this;
  }

  template <class Bytes>
  void parse_into(const Bytes& example, T& object) const {
    const std::string_view bytes = detail::bytes_of(example);
    with_views(
        example,
        [&](std::size_t i, const FeatureView& view) {
          context_.fields_[i].decode(view, bytes, object);
        },
        [&](std::size_t i, const FeatureListView& list) {
          lists_[i]->decode(list, bytes, object);
        });
  }

  template <class Bytes, class VisitFeature, class VisitList>
  void with_views(const Bytes& example, VisitFeature&& visit_feature,
                  VisitList&& visit_list) const {
    detail::ViewBuffer<FeatureView> features(context_.fields_.size());
    detail::ViewBuffer<FeatureListView> lists(lists_.size());
    parser_.parse(example, features.views(), lists.views());
    for (std::size_t i = 0; i < context_.fields_.size(); ++i) visit_feature(i, features.views()[i]);
    for (std::size_t i = 0; i < lists_.size(); ++i) visit_list(i, lists.views()[i]);
  }

  ExampleSchema<T> context_;
  SequenceExampleParser parser_;
  std::vector<std::shared_ptr<const List>> lists_;
};

}  // namespace infeed
