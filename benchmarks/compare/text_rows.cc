#include <filesystem>
#include <string>
#include <vector>

#include <infeed/infeed.h>

#include "data.h"
#include "drain.h"
#include "row.h"

namespace infeed::compare {
namespace {

constexpr std::int64_t kBatchRows = 256;

ColumnSchema table_schema() {
  return ColumnSchema()
      .column("id", DType::int64)
      .column("user", DType::int64)
      .column("count", DType::int64)
      .column("year", DType::int64)
      .column("price", DType::float64)
      .column("score", DType::float64)
      .column("x", DType::float64)
      .column("y", DType::float64)
      .bytes("name")
      .bytes("comment");
}

/// Returns megabytes a second of one pass over the whole file.
double pass_rate(const std::filesystem::path& file, const Dataset<ColumnBatch>& dataset) {
  read_into_page_cache(file);
  const auto start = Clock::now();
  std::uint64_t rows = 0;
  for (const ColumnBatch& batch : dataset.iterate()) {
    rows += static_cast<std::uint64_t>(batch.rows());
  }
  use(rows);
  return static_cast<double>(std::filesystem::file_size(file)) / seconds_since(start) / 1e6;
}

Measurement measure_csv(const RunOptions& options) {
  const auto file = options.data / "table" / "table.csv";
  return {
      pass_rate(file, csv(file.string(), table_schema(), kBatchRows, {.parallelism = autotune}))};
}

Measurement measure_json_lines(const RunOptions& options) {
  const auto file = options.data / "table" / "table.jsonl";
  return {pass_rate(
      file, json_lines(file.string(), table_schema(), kBatchRows, {.parallelism = autotune}))};
}

}  // namespace

std::vector<Row> text_rows() {
  return {{"csv to batches", measure_csv},
          {"csv to batches, in the pipeline", measure_csv},
          {"json lines to batches", measure_json_lines}};
}

}  // namespace infeed::compare
