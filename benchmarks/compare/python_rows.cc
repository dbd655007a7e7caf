#include <infeed/pipeline/parse_columns.h>

#include "data.h"
#include "drain.h"
#include "row.h"

// The pipelines of python_infeed.py without Python, for the share of it that Python keeps.
namespace infeed::compare {
namespace {

Measurement shuffled_images(const RunOptions& options, std::int64_t batch_rows) {
  const auto schema =
      ColumnSchema().column("image", DType::uint8, {784}).column("label", DType::int64);
  auto iterator = (records(fashion_mnist_shards(options.data).string()) |
                   shuffle({.buffer = 10'000, .seed = 42}) | repeat() |
                   parse_columns(schema, batch_rows, {.parallelism = autotune}) | prefetch())
                      .iterate();
  const auto run_for = [&](double seconds) {
    std::int64_t images = 0;
    const auto start = Clock::now();
    do {
      images += iterator.next().value().rows();
    } while (seconds_since(start) < seconds);
    return static_cast<double>(images) / seconds_since(start);
  };
  run_for(options.measure_seconds / 2);
  return {run_for(options.measure_seconds * 2)};
}

Row shuffled_row(const char* name, std::int64_t batch_rows) {
  return {name,
          [batch_rows](const RunOptions& options) { return shuffled_images(options, batch_rows); }};
}

}  // namespace

std::vector<Row> python_rows() {
  return {shuffled_row("shuffled images of records, batches of 128", 128),
          shuffled_row("shuffled images of records, batches of 1024", 1024)};
}

}  // namespace infeed::compare
