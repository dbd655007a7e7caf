#include <fmt/format.h>

#include <infeed/infeed.h>

#include "data.h"
#include "drain.h"
#include "row.h"

// The pipelines of python_infeed.py without Python, for the share of it that Python keeps.
namespace infeed::compare {
namespace {

/// Returns elements a second of an endless pipeline after a start, as images_a_second() of
/// python_loop.py. Each batch has as many of them as `count` says.
template <class Count>
Measurement elements_a_second(const RunOptions& options, const Dataset<ColumnBatch>& endless,
                              const Count& count) {
  auto iterator = endless.iterate();
  const auto run_for = [&](double seconds) {
    double elements = 0;
    const auto start = Clock::now();
    do {
      elements += count(iterator.next().value());
    } while (seconds_since(start) < seconds);
    return elements / seconds_since(start);
  };
  run_for(options.measure_seconds / 2);
  return {run_for(options.measure_seconds * 2)};
}

double rows_of(const ColumnBatch& batch) { return static_cast<double>(batch.rows()); }

Measurement shuffled_images(const RunOptions& options, std::int64_t batch_rows) {
  const auto schema =
      ColumnSchema().column("image", DType::uint8, {784}).column("label", DType::int64);
  return elements_a_second(
      options,
      records(fashion_mnist_shards(options.data).string(), {.map_files = true}) |
          shuffle({.buffer = 10'000, .seed = 42}) | repeat() |
          parse_columns(schema, batch_rows, {.parallelism = autotune}) | prefetch(),
      rows_of);
}

Measurement csv_features(const RunOptions& options) {
  ColumnSchema schema;
  for (int i = 0; i < 26; ++i) schema.column(fmt::format("i{:02}", i), DType::int64);
  for (int i = 0; i < 14; ++i) schema.column(fmt::format("f{:02}", i), DType::float32);
  const auto file = options.data / "features" / "features.csv";
  read_into_page_cache(file);
  return elements_a_second(
      options,
      csv(file.string(), schema, 1024, {.parallelism = autotune, .drop_remainder = true}) |
          repeat() | prefetch(),
      rows_of);
}

Measurement packed_json_lines(const RunOptions& options) {
  const auto file = options.data / "documents-json" / "documents.jsonl";
  read_into_page_cache(file);
  return elements_a_second(options,
                           json_lines(file.string(), ColumnSchema().ragged("tokens", DType::int32),
                                      256, {.parallelism = autotune}) |
                               repeat() | pack(8, {.length = 2048, .window = 64}) | prefetch(),
                           rows_of);
}

Row shuffled_row(const char* name, std::int64_t batch_rows) {
  return {name,
          [batch_rows](const RunOptions& options) { return shuffled_images(options, batch_rows); }};
}

}  // namespace

std::vector<Row> python_rows() {
  return {shuffled_row("shuffled images of records, batches of 128", 128),
          shuffled_row("shuffled images of records, batches of 1024", 1024),
          {"csv of 40 features to batches of 1024", csv_features},
          {"json lines of tokens to rows of 2048", packed_json_lines}};
}

}  // namespace infeed::compare
