#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "infeed/records/column.h"
#include "infeed/records/detail/name_table.h"
#include "infeed/records/example_schema.h"
#include "infeed/records/inferred_schema.h"

namespace infeed {

/// A row's value where its source lacks the column. A dense column takes one value for all items or
/// one for each; bytes take a single string; a ragged or padded column takes any number of values
/// (none: an empty row).
using ColumnDefault =
    std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>>;

/// The source of a column's values.
enum class ColumnSource : std::uint8_t {
  features,      ///< a feature of an Example, or of the context of a SequenceExample
  feature_list,  ///< a feature list of a SequenceExample: an item, or an inner sequence, a step
};

/// A column's type. ColumnSchema::add() refuses parts that don't fit together.
struct ColumnType {
  std::string name;
  DType dtype = DType::uint8;  ///< bytes, when the kind is bytes or ragged_bytes
  Shape shape = {};            ///< shape of a dense row, or of an item of a ragged or padded one
  Column::Kind kind = Column::Kind::dense;
  std::int64_t ragged_levels = 1;                    ///< levels of row splits, for ragged kinds
  std::optional<std::int64_t> width = std::nullopt;  ///< for padded; none: the batch's longest row
  double padding = 0;                                ///< for padded: the value that fills rows up
  std::optional<ColumnDefault> missing = std::nullopt;  ///< none: the column must be there
  /// Feature that cuts the values of an Example's feature into two ragged levels. It may cut several
  /// columns, and be a column itself.
  std::optional<std::variant<RowLengths, RowSplits>> partition = std::nullopt;
  ColumnSource source = ColumnSource::features;
  /// The type was guessed from the first rows of text. A later value that it would change is an
  /// error: "007" as 7, a whole number that float64 rounds.
  bool is_guess = false;

  bool operator==(const ColumnType& other) const;
};

/// Why: the names and types of a batch's columns, given when the program runs: in code, in a file
/// that somebody wrote, or as inferred from records.
///
///     const auto schema = infeed::ColumnSchema()
///                             .column("image", infeed::DType::uint8, {28, 28})
///                             .column("label", infeed::DType::int64)
///                             .if_missing(std::vector<std::int64_t>{-1})
///                             .ragged("tokens", infeed::DType::int32)
///                             .bytes("text");
///     const auto same = infeed::ColumnSchema::from_json(schema.to_json());
///
/// In JSON:
///
/// ```text
///     {"columns": [
///       {"name": "image", "dtype": "uint8", "shape": [28, 28]},
///       {"name": "label", "dtype": "int64", "default": -1},
///       {"name": "tokens", "kind": "ragged", "dtype": "int32"},
///       {"name": "boxes", "kind": "ragged", "dtype": "float32", "shape": [4]},
///       {"name": "words", "kind": "ragged", "dtype": "int32", "ragged_levels": 2,
///        "row_lengths": "word_lengths"},
///       {"name": "ids", "kind": "padded", "dtype": "int32", "width": 512, "padding": -1},
///       {"name": "text", "kind": "bytes"},
///       {"name": "tags", "kind": "ragged_bytes", "default": []},
///       {"name": "frames", "kind": "ragged", "dtype": "uint8", "shape": [784],
///        "feature_list": true},
///       {"name": "age", "dtype": "int64", "guess": true}]}
/// ```
///
/// Defaults: kind dense, shape []. "row_splits" may stand for "row_lengths". Numbers that JSON
/// can't write are "nan", "inf" and "-inf".
///
/// Errors: invalid_argument; for JSON with the place ("columns[2].dtype") and the values allowed
/// there. Thread-safety: a value.
class ColumnSchema {
 public:
  ColumnSchema& add(ColumnType type);
  /// Adds a dense column: each row has the shape.
  ColumnSchema& column(std::string name, DType dtype, Shape shape = {});
  /// Adds rows of any number of items, each of the shape.
  ColumnSchema& ragged(std::string name, DType dtype, Shape shape = {});
  /// Adds rows filled up to the width or, without one, to the batch's longest row.
  ColumnSchema& padded(std::string name, DType dtype,
                       std::optional<std::int64_t> width = std::nullopt, double padding = 0);
  ColumnSchema& bytes(std::string name);
  ColumnSchema& ragged_bytes(std::string name);
  /// Sets the default of the column that was added last.
  ColumnSchema& if_missing(ColumnDefault value);
  /// Lets the column that was added last come from the feature list of its name (column_parser.h).
  ColumnSchema& from_feature_list();

  /// Notes that the type of the column that was added last is a guess (ColumnType::is_guess).
  ColumnSchema& guessed();

  const std::vector<ColumnType>& columns() const { return columns_; }
  std::size_t size() const { return columns_.size(); }

  /// Writes the columns as above, one a line. Names must be UTF-8.
  std::string to_json() const;
  static ColumnSchema from_json(std::string_view text);
  /// Makes columns for inferred features. Numbers become dense (int64, float32) where all records
  /// have the same number of values, otherwise ragged. Bytes become bytes where there is always one
  /// value, otherwise ragged_bytes. A feature that some records lack is ragged, with an empty row
  /// for them. (Pictures in bytes of one length are bytes here; ask for a dense uint8 column
  /// yourself.) Feature lists become ragged columns, of one level where all steps have the same
  /// number of values.
  static ColumnSchema from(const InferredSchema& inferred);

  bool operator==(const ColumnSchema& other) const { return columns_ == other.columns_; }

 private:
  std::vector<ColumnType> columns_;
  detail::NameTable names_;
};

}  // namespace infeed
