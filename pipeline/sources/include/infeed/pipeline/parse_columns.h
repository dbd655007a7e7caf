#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/pipeline/batch_into.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/detail/expected_features.h>
#include <infeed/pipeline/detail/row_filling.h>
#include <infeed/records/column_batch.h>
#include <infeed/records/column_parser.h>

namespace infeed {

/// Parses records straight into columns that are known only at run time: from a schema in a file,
/// inferred from records, or typed by a user. It is parse_batch without a struct, and as quick.
///
///     const auto schema = infeed::ColumnSchema()
///                             .column("image", infeed::DType::uint8, {784})
///                             .column("label", infeed::DType::int64)
///                             .bytes("text");
///     auto batches = infeed::records("train-*.tfrecord")
///                  | infeed::parse_columns(schema, 128, {.parallelism = infeed::autotune});
///     for (const infeed::ColumnBatch& batch : batches.iterate()) {
///       std::span<const std::uint8_t> pixels = batch.column("image").values<std::uint8_t>();
///     }
///
/// column_parser.h says what a column may be and what it is made of. dlpack.h and arrow.h hand a
/// batch to NumPy, PyTorch and Arrow without a copy. A failed row is left out of its batch. One
/// element's error before the batch names the first failure and the number of failures. A ragged
/// column that none of the first records has is an error, as with parse().
///
/// Throws invalid_argument when it is described if Examples can't fill the schema.
inline auto parse_columns(ColumnSchema schema, std::int64_t size, BatchIntoOptions options = {});

/// Does the same with a parser of records that are no Examples: infeed::MessageParser
/// (infeed/protobuf/message_parser.h) for protobuf messages of any type, or one of yours with the
/// functions of ColumnParser.
template <class Parser>
auto parse_columns(Parser parser, std::int64_t size, BatchIntoOptions options = {});

// Only the library reads what follows.
namespace detail {

/// Returns ", schema=1a2b3c4d" for a signature, of all that a schema says.
std::string schema_signature(const ColumnSchema& schema);

/// Fills ColumnBatches from Records.
template <class Parser>
struct FillColumnBatch {
  using Filling = ColumnRows;
  using Result = ColumnBatch;
  /// Whether a copy may be left to whoever verifies the record.
  static constexpr bool kParsesUnverified =
      requires(const Parser& own, const Record& record, ColumnRows& rows, LateCopy* late) {
    own.parse_row(record.bytes(), &record, std::size_t{0}, rows, late);
  };

  FillColumnBatch for_run(MemoryAccount& memory) const {
    return {parser.with_pool(TensorPool({.account = free_memory_of(memory), .memory = lies_in})),
            size, lies_in};
  }
  ColumnRows begin(std::size_t rows) const { return parser.begin(rows); }
  void write_row(const Record& record, ColumnRows& rows, std::size_t row, const Place&,
                 std::size_t) const {
    parser.parse_row(record.bytes(), &record, row, rows);
  }
  void write_unverified(const Record& record, ColumnRows& rows, std::size_t row,
                        LateCopy& late) const requires kParsesUnverified {
    parser.parse_row(record.bytes(), &record, row, rows, &late);
  }
  static void truncate(ColumnRows& rows, std::size_t row_count) { rows.truncate(row_count); }
  static FillingBytes filling_bytes(const ColumnRows& rows) {
    return {.all = rows.memory_bytes(), .spare = rows.spare_bytes()};
  }
  ColumnBatch finish(ColumnRows rows, std::size_t row_count,
                     std::span<const std::size_t> gaps) const {
    rows.close_gaps(row_count, gaps);
    return parser.finish(std::move(rows), row_count - gaps.size());
  }
  bool rows_have_places() const { return parser.has_fixed_rows(); }
  std::uint64_t batch_bytes_min() const { return size * parser.row_bytes_min(); }
  std::string rows_signature() const {
    if constexpr (requires { schema_signature(parser.schema()); }) {
      return schema_signature(parser.schema());
    } else {
      return {};
    }
  }

  Parser parser;
  std::size_t size;
  BatchMemory lies_in;
};

template <class Parser>
inline constexpr bool kParsesColumns = requires(const Parser& parser, ColumnRows& rows) {
  parser.parse_row({}, nullptr, 0, rows);
};

template <class Parser>
struct ParseColumnsFactory {
  using ComposesAsStage = void;
  Parser parser;
  std::int64_t size;
  BatchIntoOptions options;

  template <class Element>
  Dataset<ColumnBatch> operator()(const Dataset<Element>& input) const {
    static_assert(std::is_same_v<Element, Record>,
                  "infeed::parse_columns: the dataset's Element must be an infeed::Record, as "
                  "infeed::records() gives them");
    static_assert(kParsesColumns<Parser>,
                  "infeed::parse_columns: give a ColumnSchema, or a parser with the functions of "
                  "infeed::ColumnParser");
    if constexpr (std::is_same_v<Element, Record> && kParsesColumns<Parser>) {
      const std::string name = "parse_columns";
      const std::size_t rows = checked_batch_size(name, size, parser.row_bytes_min());
      FillColumnBatch<Parser> fill{parser, rows, options.memory};
      if constexpr (requires { parser.expected(); }) {
        return fill_batches(expect_features(name, parser, input), rows, std::move(fill), name,
                            options);
      } else {
        return fill_batches(input, rows, std::move(fill), name, options);
      }
    } else {
      return refused<ColumnBatch>();
    }
  }
};

}  // namespace detail

template <class Parser>
auto parse_columns(Parser parser, std::int64_t size, BatchIntoOptions options) {
  return detail::ParseColumnsFactory<Parser>{std::move(parser), size, options};
}

inline auto parse_columns(ColumnSchema schema, std::int64_t size, BatchIntoOptions options) {
  return parse_columns(ColumnParser(std::move(schema)), size, options);
}

}  // namespace infeed
