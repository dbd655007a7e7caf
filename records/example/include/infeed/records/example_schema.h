#pragma once

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
#include "infeed/records/detail/field_list.h"
#include "infeed/records/detail/nested_field.h"
#include "infeed/records/detail/schema_fields.h"
#include "infeed/records/example.h"
#include "infeed/records/schema_parts.h"

/// Why: users have structs, files have tf.train.Example. A schema says once which feature belongs
/// to which member, and then works both ways. The member's type says what the feature must hold.
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
/// Vectors of vectors: see ragged(). Structs: see nested().
///
/// A member that is not optional and has no default must be in the record. A feature with an empty
/// list counts as missing where the member has a default or is optional.
///
/// A vector whose feature a record lacks becomes empty, but a misspelt name would empty the vectors
/// of all records. Where no record needs to have the feature, say so by a default, .feature("tags",
/// &Sample::tags, {}), or a std::optional. Otherwise infeed::parse refuses a set of records none of
/// which has it (expected() and pipeline/parse.h). For other types specialise FeatureCodec
/// (feature_codec.h).
///
/// Errors: those of example.h, with file, offset and record when a Record is parsed.
/// Thread-safety: immutable once built; cheap to copy.
namespace infeed {

template <class T>
class SequenceExampleSchema;

template <class T>
class ExampleSchema {
 public:
  template <class M>
  ExampleSchema& feature(std::string name, M T::*member) {
    return add<M>(std::move(name), member, std::nullopt);
  }
  /// Sets the member to `missing` when the record does not have the feature.
  template <class M>
  ExampleSchema& feature(std::string name, M T::*member, std::type_identity_t<M> missing) {
    return add<M>(std::move(name), member, std::move(missing));
  }

  /// Cuts the values of feature `name` into inner sequences by another feature of the record:
  ///
  ///     infeed::ExampleSchema<Sample>().ragged("values", infeed::RowLengths{"lengths"},
  ///                                            &Sample::rows)
  ///
  /// Several members may be cut by the same feature. encode() refuses an object in which their inner
  /// sequences have different lengths.
  template <class V, class Partition>
  ExampleSchema& ragged(std::string name, Partition partition,
                        std::vector<std::vector<V>> T::*member) {
    return add_ragged(std::move(name), std::move(partition), member, std::nullopt);
  }
  /// Sets the member to `missing` when the record has neither feature.
  template <class V, class Partition>
  ExampleSchema& ragged(std::string name, Partition partition,
                        std::vector<std::vector<V>> T::*member,
                        std::type_identity_t<std::vector<std::vector<V>>> missing) {
    return add_ragged(std::move(name), std::move(partition), member, std::move(missing));
  }

  /// Fills a member that is a struct with a schema of its own. Names of its features begin with
  /// `name` and a dot:
  ///
  ///     struct Camera { std::int64_t iso; };
  ///     struct Shot { Camera camera; };
  ///     const auto camera = infeed::ExampleSchema<Camera>().feature("iso", &Camera::iso);
  ///     infeed::ExampleSchema<Shot>().nested("camera", &Shot::camera, camera)  // "camera.iso"
  template <class Inner>
  ExampleSchema& nested(const std::string& name, Inner T::*member,
                        const ExampleSchema<Inner>& schema) {
    for (const auto& field : schema.fields_.all()) {
      fields_.add(std::make_shared<const detail::NestedField<T, Inner>>(
          member, field->prefixed(name + ".")));
    }
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
  /// Parses into an existing object. Members without a feature stay as they are.
  void parse(const Record& record, T& object) const {
    try {
      fields_.decode(record, object);
    } catch (...) {
      detail::rethrow_with_place(record);
    }
  }
  void parse(std::string_view example, T& object) const { fields_.decode(example, object); }

  /// Parses straight into columns, without an object between: feature i goes to row `row` of
  /// columns()[i]. A column is an array of the member's type, so a column of std::array<float, 3>
  /// is a contiguous matrix of floats. After an Error the row's content is unspecified; use the row
  /// again. `late` is for the library only, here and below.
  void parse_row(const Record& record, std::size_t row, std::span<void* const> column_data,
                 detail::LateCopy* late = nullptr) const {
    fields_.parse_row(record, row, column_data, late);
  }

  /// Parses straight into columns that grow, for members of different lengths. columns[i] is the
  /// RowColumn<M> (row_column.h) of feature i's member, each with `row` rows; an Error leaves them
  /// with `row` rows.
  void append_row(const Record& record, std::size_t row, std::span<void* const> columns,
                  detail::LateCopy* late = nullptr) const {
    fields_.append_row(record, row, columns, late);
  }

  /// Describes one element of a column.
  using Column = detail::SchemaColumn;
  std::vector<Column> columns() const {
    std::vector<Column> result;
    for (const auto& field : fields_.all()) result.push_back(field->column());
    return result;
  }

  std::string encode(const T& object) const {
    ExampleBuilder builder;
    for (const auto& field : fields_.all()) field->encode(object, builder);
    return builder.encode();
  }

  /// Names of the features, including partitions.
  const std::vector<std::string>& names() const { return fields_.names(); }
  ExpectedFeatures expected() const {
    ExpectedFeatures expected;
    for (const auto& field : fields_.all()) {
      if (field->is_expected()) expected.features.emplace_back(field->column().name);
    }
    return expected;
  }

 private:
  template <class Outer>
  friend class ExampleSchema;
  friend class SequenceExampleSchema<T>;
  template <class V, class Partition>
  ExampleSchema& add_ragged(
      std::string name, Partition partition, std::vector<std::vector<V>> T::*member,
      std::optional<std::type_identity_t<std::vector<std::vector<V>>>> missing) {
    constexpr bool kHasSplits = std::is_same_v<Partition, RowSplits>;
    static_assert(kHasSplits || std::is_same_v<Partition, RowLengths>,
                  "infeed: give infeed::RowLengths or infeed::RowSplits");
    static_assert(detail::kHasFeatureCodec<std::vector<V>> && !detail::kIsByte<V>,
                  "infeed: inner sequences of a ragged feature hold numbers or std::string");
    fields_.add(std::make_shared<const detail::RaggedField<T, V>>(
        std::move(name), member, std::move(partition.feature), kHasSplits, std::move(missing)));
    return *this;
  }

  template <class M>
  ExampleSchema& add(std::string name, M T::*member, std::optional<M> missing) {
    static_assert(detail::kHasFeatureCodec<M>,
                  "infeed: no feature can fill a member of this type; see the table in "
                  "example_schema.h, or specialise infeed::FeatureCodec for it");
    fields_.add(std::make_shared<const detail::MemberField<T, M>>(std::move(name), member,
                                                                  std::move(missing)));
    return *this;
  }

  detail::FieldList<T> fields_;
};

}  // namespace infeed
