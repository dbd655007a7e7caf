#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/bad_rows.h>
#include <infeed/error.h>
#include <infeed/pipeline/detail/judged_pass.h>
#include <infeed/pipeline/parse_columns.h>
#include <infeed/replace_errors.h>

/// Why: parse_columns leaves a failed row out of its batch. Where several hosts share the batches,
/// that host then has a row less than the others expect, and later rows may move. Here a bad record
/// keeps its row: zeros, with `valid` 0. So positions, steps and resumes depend on the data alone.
///
///     auto kept = std::make_shared<infeed::KeptRows>(column_schema);
///     auto batches = infeed::records("train-*.tfrecord") | infeed::share_of(world)
///                  | infeed::keep_rows(kept, 128, {.parallelism = infeed::autotune});
///     for (const infeed::ColumnBatch& batch : batches.iterate()) {
///       kept->take(batch);                                   // notes the bad rows among those used
///       use(batch.column("image"), batch.column("valid"));   // as weights
///     }
///     const auto bad = infeed::merged(*ranks, kept->taken());  // equal at any number of hosts
///
/// Two columns are added to the schema's: `valid`, uint8, 1 for a good row, and `bad_row`, int64, the
/// bad row's number (bad_rows.h), which take() reads; 0 for a good one. A column with a default has
/// that instead of zeros, a ragged or padded one no items.
///
/// An error that may pass (unavailable, deadline_exceeded: a server's trouble) is no bad record. Other
/// hosts, or a resume, would have other rows behind it, so it is terminal: a checkpoint taken then
/// resumes before it.
namespace infeed {

struct KeepRowsOptions {
  std::string valid = "valid";     ///< name of the column that says which rows are good
  std::string number = "bad_row";  ///< name of the column that take() reads
  /// If so many records of a pass, the first ones, don't parse and none does, the schema is wrong, not
  /// the data: the pass ends there with an Error.
  std::uint64_t only_bad_max = 100;
};

/// The bad rows of this host. Thread-safety: any threads.
class KeptRows {
 public:
  /// Throws Error(invalid_argument) if no row can stand for a bad record: a column from a feature
  /// list, or cut by a partition, needs a default. Or if the schema has columns of these names.
  /// Pipelines that are mixed later share a ledger.
  explicit KeptRows(const ColumnSchema& schema, KeepRowsOptions options = {},
                    std::shared_ptr<BadRowLedger> ledger = std::make_shared<BadRowLedger>());

  /// The schema with the two columns.
  const ColumnSchema& schema() const { return schema_; }
  const KeepRowsOptions& options() const { return options_; }
  /// Notes a bad record, and returns the bytes of the Example that stands for it.
  std::string replace(const Error& error);
  /// Returns the bytes of an Example whose row is invalid and stands for no record.
  std::string padding() const { return example_of(BadRowLedger::kNoRecord); }

  /// Notes the bad rows of a batch that the training has used. Returns how many there are in it.
  std::size_t take(const ColumnBatch& batch) { return taken_.take(batch); }
  /// The bad rows of all batches that were taken, sorted, each record once.
  std::vector<BadRow> taken() const { return taken_.sorted(); }

 private:
  std::string example_of(std::int64_t number) const;

  const KeepRowsOptions options_;
  const std::shared_ptr<BadRowLedger> ledger_;
  TakenBadRows taken_;
  ColumnSchema schema_;
  std::vector<ColumnType> columns_;  ///< those without a default, for example_of()
};

/// Returns a record whose row is invalid, to fill a last batch up by whole_batches() (share.h). It
/// stands for no data, so it is in no list of bad rows.
Record padding_record(const KeptRows& kept);

/// parse_columns() that keeps the rows of bad records: those that don't parse, and the one that
/// stands for damage in its file. `size` and the options are those of parse_columns().
inline auto keep_rows(std::shared_ptr<KeptRows> kept, std::int64_t size,
                      BatchIntoOptions options = {});

// Only the library reads what follows.
namespace detail {

/// A ColumnParser that parses a replacement where a record fails.
class KeepingParser {
 public:
  explicit KeepingParser(std::shared_ptr<KeptRows> kept)
      : KeepingParser(kept, ColumnParser(kept->schema())) {}
  /// `parser`: of the rows' schema, or of one that pads its ragged columns.
  KeepingParser(std::shared_ptr<KeptRows> kept, ColumnParser parser)
      : kept_(std::move(kept)), parser_(std::move(parser)) {}

  const ColumnSchema& schema() const { return parser_.schema(); }
  ExpectedFeatures expected() const { return parser_.expected(); }
  KeepingParser with_pool(TensorPool pool) const {
    return {kept_, parser_.with_pool(std::move(pool))};
  }
  bool has_fixed_rows() const { return parser_.has_fixed_rows(); }
  std::size_t row_bytes_min() const { return parser_.row_bytes_min(); }
  ColumnRows begin(std::size_t rows_max) const { return parser_.begin(rows_max); }
  ColumnBatch finish(ColumnRows&& rows, std::size_t row_count) const {
    return parser_.finish(std::move(rows), row_count);
  }
  void parse_row(std::string_view example, const Record* place, std::size_t row,
                 ColumnRows& rows) const;
  /// Describes the judge of passes whose first records give no row.
  JudgeSpec judge() const;

 private:
  std::shared_ptr<KeptRows> kept_;
  ColumnParser parser_;
};

/// Puts a record that stands for a bad one in the place of each error. One that may pass ends the
/// pass.
Dataset<Record> without_damage(const Dataset<Record>& input, std::shared_ptr<KeptRows> kept);

/// Parses records, of which none is an error any more.
inline Dataset<ColumnBatch> parse_keeping(const Dataset<Record>& input, const KeepingParser& parser,
                                          std::int64_t size, const BatchIntoOptions& options) {
  return Dataset<Record>(make_judged_pass(parser.judge(), input.node())) |
         parse_columns(parser, size, options);
}

struct KeepRowsFactory {
  using ComposesAsStage = void;
  std::shared_ptr<KeptRows> kept;
  std::int64_t size;
  BatchIntoOptions options;

  Dataset<ColumnBatch> operator()(const Dataset<Record>& input) const {
    return parse_keeping(without_damage(input, kept), KeepingParser(kept), size, options);
  }
};

}  // namespace detail

inline auto keep_rows(std::shared_ptr<KeptRows> kept, std::int64_t size, BatchIntoOptions options) {
  return detail::KeepRowsFactory{std::move(kept), size, options};
}

}  // namespace infeed
