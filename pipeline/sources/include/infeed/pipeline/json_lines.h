#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/batch_memory.h>
#include <infeed/records/json_lines.h>

namespace infeed {

struct JsonLinesSourceOptions {
  JsonLinesOptions format = {};
  /// Works as in CsvSourceOptions.
  Count parallelism = 1;
  /// Leaves out a last batch that has fewer rows than the others.
  bool drop_remainder = false;
  BatchMemory memory = nullptr;  ///< as in BatchOptions
  StageName name = {};           ///< as in StageOptions
};

/// Reads JSON-lines files (one object per line), one file after the other, as batches of columns.
///
///     const auto schema = infeed::ColumnSchema()
///                             .bytes("text")
///                             .ragged("tokens", infeed::DType::int32)
///                             .column("meta.score", infeed::DType::float32);
///     auto batches =
///         infeed::json_lines("corpus-*.jsonl.gz", schema, 256, {.parallelism = infeed::autotune});
///
/// records/json_lines.h says which value becomes which column. Everything else (patterns, threads,
/// order, errors, checkpoints) is as with csv (csv.h).
Dataset<ColumnBatch> json_lines(const std::string& pattern, ColumnSchema schema, Count size,
                                JsonLinesSourceOptions options = {});
/// Reads a list of names, in its order. The files need not exist yet.
Dataset<ColumnBatch> json_lines(std::vector<std::string> files, ColumnSchema schema, Count size,
                                JsonLinesSourceOptions options = {});
Dataset<ColumnBatch> json_lines(std::initializer_list<std::string> files, ColumnSchema schema,
                                Count size, JsonLinesSourceOptions options = {});
/// Reads with the schema that infer_json_lines_schema finds in the first file.
Dataset<ColumnBatch> json_lines(const std::string& pattern, Count size,
                                JsonLinesSourceOptions options = {});

}  // namespace infeed
