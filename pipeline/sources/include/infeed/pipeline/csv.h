#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/batch_memory.h>
#include <infeed/records/csv.h>

namespace infeed {

struct CsvSourceOptions {
  CsvOptions format = {};
  /// The most batches that are parsed at the same time; with 1 the pulling thread parses. autotune
  /// takes as many as there are usable cores.
  Count parallelism = 1;
  /// Leaves out a last batch that has fewer rows than the others.
  bool drop_remainder = false;
  BatchMemory memory = nullptr;  ///< as in BatchOptions
  StageName name = {};           ///< as in StageOptions
};

/// Reads the rows of CSV files, one file after the other, as batches of columns whose names and
/// types are known at run time.
///
///     const auto schema = infeed::ColumnSchema()
///                             .column("age", infeed::DType::int32)
///                             .column("income", infeed::DType::float32)
///                             .if_missing(std::vector<double>{0})
///                             .bytes("city");
///     auto batches = infeed::csv("people-*.csv", schema, 256, {.parallelism = infeed::autotune});
///     for (const infeed::ColumnBatch& batch : batches.iterate()) {
///       std::span<const float> incomes = batch.column("income").values<float>();
///     }
///
/// CsvOptions (records/text_options.h) sets tabs or semicolons, no header, other nulls.
/// records/csv.h says what a cell may hold. Patterns are those of infeed::match_files; they are
/// looked up when the source is described. Files may be plain, .gz, .zst, .lz4 or URLs.
///
/// One thread finds where rows end, at gigabytes a second. The slow part, parsing a batch's rows,
/// is done by any number of threads, inside one file as well. Order, errors and checkpoints don't
/// depend on them. Skipping (a resume) finds the ends of rows and parses none.
///
/// Batch k holds the rows k * size up to (k + 1) * size of all files together, so batches may cross
/// files. Errors are elements' errors:
/// | error                                       | lost rows                                      |
/// |---------------------------------------------|------------------------------------------------|
/// | a row that can't be read                    | its batch, or with BadRows::leave_out only it  |
/// | a header that lacks a column                | the file; the next one follows                 |
/// | a file that is gone, damaged, not readable; | the rest of it, after a batch of the rows      |
/// | a quote that is not closed                  | before; the next file follows                  |
///
/// StageStatistics::count("dropped_records") gives the rows that were left out, and those that went
/// with a bad one, for which the error stands. Those of a short last batch that drop_remainder leaves
/// out count in the stage before, text_rows.
///
/// Throws when the source is described if nothing matches the pattern, or if cells can't fill the
/// schema.
Dataset<ColumnBatch> csv(const std::string& pattern, ColumnSchema schema, Count size,
                         CsvSourceOptions options = {});
/// Reads a list of names, in its order. The files need not exist yet.
Dataset<ColumnBatch> csv(std::vector<std::string> files, ColumnSchema schema, Count size,
                         CsvSourceOptions options = {});
Dataset<ColumnBatch> csv(std::initializer_list<std::string> files, ColumnSchema schema, Count size,
                         CsvSourceOptions options = {});
/// Reads with the schema that infer_csv_schema finds in the first file.
Dataset<ColumnBatch> csv(const std::string& pattern, Count size, CsvSourceOptions options = {});

}  // namespace infeed
