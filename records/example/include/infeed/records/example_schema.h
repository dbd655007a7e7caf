#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/detail/feature_codec.h"
#include "infeed/records/detail/row_column.h"
#include "infeed/records/example.h"

/// Why: users have structs, files have tf.train.Example. A schema says once which feature belongs
/// to which member and then goes both ways; the member's type says what the feature must hold.
///
///     struct Sample { std::array<std::uint8_t, 784> image; std::int64_t label; };
///
///     const auto schema = infeed::ExampleSchema<Sample>()
///                             .feature("image", &Sample::image)
///                             .feature("label", &Sample::label);
///     Sample sample = schema.parse(record);
///     std::string bytes = schema.encode(sample);
///
/// | member                                       | feature                                       |
/// |----------------------------------------------|-----------------------------------------------|
/// | any integer type, bool                       | one integer, in the type's range              |
/// | float, double                                | one float                                     |
/// | std::string, Record (no copy)                | one value of bytes                            |
/// | std::array / std::vector of uint8_t or byte  | one value of bytes (an array: of that length) |
/// | std::array<N> of numbers or std::string      | exactly N values                              |
/// | std::vector of numbers or std::string        | any number of values; none when it is missing |
/// | std::vector of std::array<N> of numbers      | rows of N values each; none when missing      |
/// | std::optional of any of them                 | as that; empty when it is missing             |
///
/// Vectors of vectors: see ragged().
///
/// A member that is not optional and has no default must be there. A feature that is there with an
/// empty list counts as missing where a default or an optional member allows for that.
///
/// A vector whose feature a record lacks becomes empty, but a misspelt name would make all of them
/// so: where no record has to have it, say that by a default, .feature("tags", &Sample::tags, {}),
/// or a std::optional. infeed::parse refuses records none of which has a feature without that
/// (expected() and pipeline/parse.h).
/// For other types specialise FeatureCodec (feature_codec.h).
///
/// Errors: as in example.h, with file, offset and record when parsing a Record.
/// Thread-safety: immutable once built; cheap to copy.
namespace infeed {

/// Partitions of a ragged feature, as in TensorFlow's RaggedFeature: which integer feature says how
/// its values are cut into inner sequences.
struct RowLengths {
  std::string feature;  ///< how long each is
};
struct RowSplits {
  std::string feature;  ///< 0, and where each ends
};

/// What at least some of many records should have: what fills vectors and was not said to be
/// optional. Whatever can't be missing is not among it.
struct ExpectedFeatures {
  std::vector<std::string> features;
  std::vector<std::string> lists;  ///< of SequenceExamples
  bool of_sequences = false;

  bool empty() const { return features.empty() && lists.empty(); }
};

template <class T>
class SequenceExampleSchema;

namespace detail {

template <class T, class M>
std::size_t member_offset(M T::*member) {
  // The address of a member of no object: asked for, never read.
  alignas(T) static std::byte place[sizeof(T)];
  const auto* const at = &(reinterpret_cast<T*>(place)->*member);
  return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(at) - place);
}

}  // namespace detail

template <class T>
class ExampleSchema {
 public:
  template <class M>
  ExampleSchema& feature(std::string name, M T::*member) & {
    return add<M>(std::move(name), member, std::nullopt);
  }
  template <class M>
  ExampleSchema&& feature(std::string name, M T::*member) && {
    return std::move(add<M>(std::move(name), member, std::nullopt));
  }
  /// `missing` is what the member becomes when the record does not have the feature.
  template <class M>
  ExampleSchema& feature(std::string name, M T::*member, std::type_identity_t<M> missing) & {
    return add<M>(std::move(name), member, std::move(missing));
  }
  template <class M>
  ExampleSchema&& feature(std::string name, M T::*member, std::type_identity_t<M> missing) && {
    return std::move(add<M>(std::move(name), member, std::move(missing)));
  }

  /// The values of feature `name`, cut by another feature of the record:
  ///
  ///     infeed::ExampleSchema<Sample>().ragged("values", infeed::RowLengths{"lengths"},
  ///                                            &Sample::rows)
  template <class V, class Partition>
  ExampleSchema& ragged(std::string name, Partition partition,
                        std::vector<std::vector<V>> T::*member) & {
    return add_ragged(std::move(name), std::move(partition), member, std::nullopt);
  }
  template <class V, class Partition>
  ExampleSchema&& ragged(std::string name, Partition partition,
                         std::vector<std::vector<V>> T::*member) && {
    return std::move(add_ragged(std::move(name), std::move(partition), member, std::nullopt));
  }
  /// `missing` is what the member becomes when the record has neither of them.
  template <class V, class Partition>
  ExampleSchema& ragged(std::string name, Partition partition,
                        std::vector<std::vector<V>> T::*member,
                        std::type_identity_t<std::vector<std::vector<V>>> missing) & {
    return add_ragged(std::move(name), std::move(partition), member, std::move(missing));
  }
  template <class V, class Partition>
  ExampleSchema&& ragged(std::string name, Partition partition,
                         std::vector<std::vector<V>> T::*member,
                         std::type_identity_t<std::vector<std::vector<V>>> missing) && {
    return std::move(add_ragged(std::move(name), std::move(partition), member, std::move(missing)));
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
  /// Into an object that is there; members that no feature belongs to stay as they are.
  void parse(const Record& record, T& object) const {
    try {
      parse_into(record, object);
    } catch (...) {
      detail::rethrow_with_place(record);
    }
  }
  void parse(std::string_view example, T& object) const { parse_into(example, object); }

  /// Straight into columns, without an object between: row `row` of columns()[i] is assigned from
  /// feature i. A column is an array of the member's type, so one of std::array<float, 3> is a
  /// contiguous matrix of floats. What an Error leaves in the row is unspecified; use the row
  /// again.
  void parse_row(const Record& record, std::size_t row, std::span<void* const> column_data) const {
    const auto assign = [&](const Field& field, std::size_t i, const FeatureView& view) {
      field.decode_at(view, record.bytes(), column_data[i], row);
    };
    try {
      if (column_data.size() != fields_.size()) detail::fail_columns(column_data.size(), names());
      with_views(record, assign);
    } catch (...) {
      detail::rethrow_with_place(record);
    }
  }

  /// Straight into columns that grow, for members of different lengths: columns[i] is the
  /// RowColumn<M> (row_column.h) of feature i's member, each with `row` rows; an Error leaves it
  /// so.
  void append_row(const Record& record, std::size_t row, std::span<void* const> columns) const {
    if (columns.size() != fields_.size()) detail::fail_columns(columns.size(), names());
    try {
      with_views(record, [&](const Field& field, std::size_t i, const FeatureView& view) {
        field.append(view, record.bytes(), columns[i]);
      });
    } catch (...) {
      for (std::size_t i = 0; i < fields_.size(); ++i) fields_[i]->truncate(columns[i], row);
      detail::rethrow_with_place(record);
    }
  }

  /// One element of a column.
  struct Column {
    std::string_view name;
    std::size_t offset_bytes;  ///< of the member within T
    std::size_t size_bytes;
    std::size_t alignment;
  };
  std::vector<Column> columns() const {
    std::vector<Column> result;
    for (const auto& field : fields_) result.push_back(field->column());
    return result;
  }

  std::string encode(const T& object) const {
    ExampleBuilder builder;
    for (const auto& field : fields_) field->encode(object, builder);
    return builder.encode();
  }

  /// Of the features, partitions included.
  const std::vector<std::string>& names() const { return parser_.names(); }
  ExpectedFeatures expected() const {
    ExpectedFeatures expected;
    for (const auto& field : fields_) {
      if (field->is_expected()) expected.features.emplace_back(field->column().name);
    }
    return expected;
  }

 private:
  friend class SequenceExampleSchema<T>;

  /// What is given a view may look at those behind it, too, if it wanted several features.
  struct Field {
    virtual ~Field() = default;
    virtual void decode(const FeatureView& view, std::string_view example, T& object) const = 0;
    virtual void decode_at(const FeatureView& view, std::string_view example, void* column,
                           std::size_t row) const = 0;
    virtual void append(const FeatureView& view, std::string_view example, void* column) const = 0;
    virtual void truncate(void* column, std::size_t rows) const = 0;
    virtual Column column() const = 0;
    virtual bool is_expected() const = 0;
    virtual void encode(const T& object, ExampleBuilder& builder) const = 0;
  };

  template <class M>
  struct MemberField final : Field {
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
    void truncate(void* column, std::size_t rows) const override {
      static_cast<RowColumn<M>*>(column)->truncate(rows);
    }
    Column column() const override {
      return {name, detail::member_offset(member), sizeof(M), alignof(M)};
    }
    bool is_expected() const override {
      return detail::kIsVector<M> && FeatureCodec<M>::kMayBeMissing && !missing;
    }
    /// Whether `missing` stands in for the feature; an Error when something has to and can't.
    bool takes_missing(const FeatureView& view, std::string_view example) const {
      if (missing && detail::is_missing_or_empty(view)) return true;
      if (!view.is_present() && !FeatureCodec<M>::kMayBeMissing) {
        detail::fail_missing(view, example);
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

    std::string name;
    M T::*member;
    std::optional<M> missing;
  };

  template <class V>
  struct RaggedField final : Field {
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
      detail::append_values(view, rows.values);
      for (const std::size_t end : ends(view, rows.values.size() - begin)) {
        rows.inner_splits.push_back(static_cast<std::int64_t>(begin + end));
      }
      rows.row_splits.push_back(static_cast<std::int64_t>(rows.inner_splits.size() - 1));
    }
    void truncate(void* column, std::size_t rows) const override {
      static_cast<RowColumn<M>*>(column)->truncate(rows);
    }
    Column column() const override {
      return {name, detail::member_offset(member), sizeof(M), alignof(M)};
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
      builder.integers(partition, std::span<const std::int64_t>(cuts));
    }
    /// The partition was wanted right behind the values.
    std::vector<std::size_t> ends(const FeatureView& view, std::size_t values) const {
      return detail::ends_of_rows((&view)[1], has_splits, view, values);
    }

    std::string name;
    M T::*member;
    std::string partition;
    bool has_splits;
    std::optional<M> missing;
  };

  template <class V, class Partition>
  ExampleSchema& add_ragged(
      std::string name, Partition partition, std::vector<std::vector<V>> T::*member,
      std::optional<std::type_identity_t<std::vector<std::vector<V>>>> missing) {
    constexpr bool kHasSplits = std::is_same_v<Partition, RowSplits>;
    static_assert(kHasSplits || std::is_same_v<Partition, RowLengths>,
                  "infeed: give infeed::RowLengths or infeed::RowSplits");
    static_assert(detail::kHasFeatureCodec<std::vector<V>> && !detail::kIsByte<V>,
                  "infeed: inner sequences of a ragged feature hold numbers or std::string");
    first_views_.push_back(parser_.want(name));
    parser_.want(partition.feature);
    fields_.push_back(std::make_shared<const RaggedField<V>>(
        std::move(name), member, std::move(partition.feature), kHasSplits, std::move(missing)));
    return *this;
  }

  template <class M>
  ExampleSchema& add(std::string name, M T::*member, std::optional<M> missing) {
    static_assert(detail::kHasFeatureCodec<M>,
                  "infeed: no feature can fill a member of this type; see the table in "
                  "example_schema.h, or specialise infeed::FeatureCodec for it");
    first_views_.push_back(parser_.want(name));
    fields_.push_back(
        std::make_shared<const MemberField<M>>(std::move(name), member, std::move(missing)));
    return *this;
  }

  template <class Bytes>
  void parse_into(const Bytes& example, T& object) const {
    with_views(example, [&](const Field& field, std::size_t, const FeatureView& view) {
      field.decode(view, detail::bytes_of(example), object);
    });
  }

  /// visit(field, its index, its view) for every field.
  template <class Bytes, class Visitor>
  void with_views(const Bytes& example, Visitor&& visit) const {
    const auto run = [&](std::span<FeatureView> views) {
      parser_.parse(example, views);
      for (std::size_t i = 0; i < fields_.size(); ++i) {
        visit(*fields_[i], i, views[first_views_[i]]);
      }
    };
    if (parser_.size() <= 4) {  // what is on the stack has to be cleared for each record
      std::array<FeatureView, 4> views;
      run(std::span(views).first(parser_.size()));
    } else if (parser_.size() <= 64) {
      std::array<FeatureView, 64> views;
      run(std::span(views).first(parser_.size()));
    } else {
      std::vector<FeatureView> views(parser_.size());
      run(views);
    }
  }

  ExampleParser parser_;
  std::vector<std::shared_ptr<const Field>> fields_;
  std::vector<std::size_t> first_views_;  // of the fields, in the parser
};

}  // namespace infeed
