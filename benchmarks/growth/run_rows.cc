#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/example.h>
#include <infeed/records/record_writer.h>

#include "growth_row.h"
#include "temporary_folder.h"

// Iterators that live at the same time, and epochs.
namespace infeed::growth {
namespace {

/// Images of 784 floats, 3 kB each.
void write_images(const std::string& file) {
  RecordWriter writer(file);
  for (int i = 0; i < 4000; ++i) {
    const std::vector<float> pixels(784, static_cast<float>(i));
    writer.write(ExampleBuilder().floats("pixels", std::span(pixels)).encode());
  }
  writer.close();
}

Dataset<ColumnBatch> batches_of(const std::string& file) {
  const auto schema = ColumnSchema().column("pixels", DType::float32, {784});
  return records(file) | repeat() | shuffle({.buffer = 1000, .seed = 1}) |
         parse_columns(schema, 128, {.parallelism = autotune}) |
         map([](ColumnBatch batch) { return batch; }, {.parallelism = autotune}) | prefetch();
}

using Iterators = std::vector<Iterator<ColumnBatch>>;

/// Waits until the iterators' threads have filled their queues.
void wait_until_full(const Iterators& iterators) {
  std::uint64_t before = 0;
  std::uint64_t now = 1;
  while (now != before) {
    before = std::exchange(now, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    for (const auto& iterator : iterators) now += iterator.memory().in_use_bytes();
  }
}

Iterators iterators_of(const std::string& file, std::uint64_t count) {
  const auto dataset = batches_of(file);
  Iterators iterators;
  for (std::uint64_t i = 0; i < count; ++i) {
    iterators.push_back(dataset.iterate());
    for (int batch = 0; batch < 20; ++batch) iterators.back().next();
  }
  wait_until_full(iterators);
  return iterators;
}

void hold_iterators(std::uint64_t count, Meter& meter) {
  const TemporaryFolder folder;
  write_images(folder.file("images"));
  meter.begin();
  const auto iterators = iterators_of(folder.file("images"), count);
  meter.end();
}

void leave_iterators(std::uint64_t count, Meter& meter) {
  const TemporaryFolder folder;
  write_images(folder.file("images"));
  meter.begin();
  iterators_of(folder.file("images"), count).clear();
  meter.end_with_what_is_left();
}

void run_epochs(std::uint64_t count, Meter& meter) {
  const auto epochs = range(10) | map([](std::int64_t x) { return x + 1; }, {.parallelism = 2}) |
                      repeat(static_cast<std::int64_t>(count));
  meter.begin();
  epochs.count();
  meter.end();
}

}  // namespace

std::vector<Row> run_rows() {
  return {
      {"iterators", "that live, each after 20 batches", 2, 1, hold_iterators},
      {"iterators", "that have gone: the memory that stays", 2, 1, leave_iterators},
      {"epochs", "of ten numbers behind a map with 2 threads", 300, 50, run_epochs},
  };
}

}  // namespace infeed::growth
