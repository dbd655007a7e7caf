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

struct TextFile {
  std::filesystem::path plain;  ///< its bytes are counted
  std::filesystem::path read;   ///< the same, or compressed
};
TextFile plain_file(const RunOptions& options, const std::string& name) {
  return {options.data / "table" / name, options.data / "table" / name};
}
TextFile zstd_file(const RunOptions& options, const std::string& name) {
  return {options.data / "table" / name, options.data / "table-zstd" / (name + ".zst")};
}

/// Returns megabytes of text a second of one pass over the whole file.
double pass_rate(const TextFile& file, const Dataset<ColumnBatch>& dataset) {
  read_into_page_cache(file.read);
  const auto start = Clock::now();
  std::uint64_t rows = 0;
  for (const ColumnBatch& batch : dataset.iterate()) {
    rows += static_cast<std::uint64_t>(batch.rows());
  }
  use(rows);
  return static_cast<double>(std::filesystem::file_size(file.plain)) / seconds_since(start) / 1e6;
}

Measurement measure_csv(const TextFile& file) {
  return {pass_rate(
      file, csv(file.read.string(), table_schema(), kBatchRows, {.parallelism = autotune}))};
}

Measurement measure_json_lines(const TextFile& file) {
  return {pass_rate(
      file, json_lines(file.read.string(), table_schema(), kBatchRows, {.parallelism = autotune}))};
}

}  // namespace

std::vector<Row> text_rows() {
  const auto of_csv = [](const RunOptions& options) {
    return measure_csv(plain_file(options, "table.csv"));
  };
  return {{"csv to batches", of_csv},
          {"csv to batches, from zstd",
           [](const RunOptions& options) { return measure_csv(zstd_file(options, "table.csv")); }},
          {"csv to batches, in the pipeline", of_csv},
          {"json lines to batches",
           [](const RunOptions& options) {
             return measure_json_lines(plain_file(options, "table.jsonl"));
           }},
          {"json lines to batches, from zstd", [](const RunOptions& options) {
             return measure_json_lines(zstd_file(options, "table.jsonl"));
           }}};
}

}  // namespace infeed::compare
