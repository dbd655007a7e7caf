#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/csv.h>

namespace infeed {

struct CsvSourceOptions {
  CsvOptions format = {};
  /// So many batches may be parsed at the same time; with 1 the thread that pulls does it. autotune
  /// takes as many as there are usable cores.
  Count parallelism = 1;
  /// Leaves out a last batch that has fewer rows than the others.
  bool drop_remainder = false;
  StageName name = {};  ///< as in StageOptions
};

/// Why: gives the rows of CSV files, one file after the other, as batches of columns whose names and
/// types are known when the program runs.
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
/// Tabs or semicolons, without a header, with other nulls: CsvOptions (records/text_options.h);
/// what a cell may hold: records/csv.h. Patterns are those of infeed::match_files, looked up when
/// the source is described; plain files, .gz, .lz4, URLs.
///
/// One thread finds where rows end, at gigabytes a second; what takes time, the parsing of a batch's
/// rows, any number of threads do, inside one file as well. Order, errors and checkpoints don't
/// depend on them. Skipping (a resume) finds the ends of rows and parses none.
///
/// Batch k holds the rows k * size up to (k + 1) * size of all files together, so the files' ends
/// don't show. Errors are an element's:
/// | what                                        | what it costs                                  |
/// |---------------------------------------------|------------------------------------------------|
/// | a row that can't be read                    | its batch, or with BadRows::leave_out only it  |
/// | a header that lacks a column                | the file; the next one follows                 |
/// | a file that is gone, damaged, not readable; | the rest of it, behind a batch of the rows     |
/// | a quote that is not closed                  | before; the next file follows                  |
///
/// A pattern that nothing matches, and a schema that cells can't fill, are thrown when the source is
/// described.
Dataset<ColumnBatch> csv(const std::string& pattern, ColumnSchema schema, Count size,
                         CsvSourceOptions options = {});
/// A list of names, in its order; none of them needs to exist yet.
Dataset<ColumnBatch> csv(std::vector<std::string> files, ColumnSchema schema, Count size,
                         CsvSourceOptions options = {});
Dataset<ColumnBatch> csv(std::initializer_list<std::string> files, ColumnSchema schema, Count size,
                         CsvSourceOptions options = {});
/// With the schema that the first file suggests (infer_csv_schema).
Dataset<ColumnBatch> csv(const std::string& pattern, Count size, CsvSourceOptions options = {});

}  // namespace infeed
