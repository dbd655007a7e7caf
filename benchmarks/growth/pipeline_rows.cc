#include <vector>

#include <infeed/infeed.h>

#include "growth_row.h"

// The buffer of a shuffle, stages, and datasets that one stage draws from.
namespace infeed::growth {
namespace {

Dataset<std::int64_t> shuffled(std::uint64_t buffer) {
  return range(static_cast<std::int64_t>(buffer)) | shuffle({.buffer = buffer, .seed = 1});
}

void shuffle_all(std::uint64_t buffer, Meter& meter) {
  meter.begin();
  shuffled(buffer).count();
  meter.end();
}

/// Resumes in the middle, where half of the input lies in the buffer.
void resume_shuffle(std::uint64_t buffer, Meter& meter) {
  const auto dataset = shuffled(buffer);
  Checkpoint middle = dataset.iterate().checkpoint();
  middle.position = buffer / 2;
  meter.begin();
  dataset.iterate({.resume = middle}).next();
  meter.end();
}

Dataset<std::int64_t> maps(std::uint64_t count) {
  auto dataset = range(1000);
  for (std::uint64_t i = 0; i < count; ++i) {
    dataset = dataset | map([](std::int64_t x) { return x + 1; });
  }
  return dataset;
}

void run_stages(std::uint64_t count, Meter& meter) {
  meter.begin();
  auto iterator = maps(count).iterate();
  while (iterator.next()) {
  }
  iterator.checkpoint();
  meter.end();
}

void ask_statistics(std::uint64_t count, Meter& meter) {
  auto iterator = maps(count).iterate();
  iterator.next();
  meter.begin();
  for (int i = 0; i < 10; ++i) iterator.statistics().table();
  meter.end();
}

std::vector<Dataset<std::int64_t>> short_ranges(std::uint64_t count) {
  return std::vector<Dataset<std::int64_t>>(count, range(20));
}

void iterate_sample(std::uint64_t datasets, Meter& meter) {
  const auto sample = sample_from_datasets(short_ranges(datasets), {.seed = 1});
  meter.begin();
  sample.iterate().next();
  meter.end();
}

void draw_sample(std::uint64_t datasets, Meter& meter) {
  auto iterator = sample_from_datasets(short_ranges(datasets), {.seed = 1}).iterate();
  iterator.next();
  meter.begin();
  // Later on most datasets have ended, and draws fall on those again and again.
  for (std::uint64_t i = 0; i < 10 * datasets; ++i) iterator.next();
  meter.end();
}

constexpr const char* kRandomAccess =
    "slots are read at random, and a larger buffer leaves one cache after the other";

}  // namespace

std::vector<Row> pipeline_rows() {
  return {
      {"buffer", "shuffle(n) of n numbers", 100'000, 30'000, shuffle_all, 6, kLinear,
       kRandomAccess},
      {"buffer", "resume at n / 2 of shuffle(n)", 100'000, 30'000, resume_shuffle, 6, kLinear,
       kRandomAccess},
      {"stages", "maps in a row: 1,000 numbers, a checkpoint", 30, 10, run_stages},
      {"stages", "maps in a row: statistics() and table()", 30, 10, ask_statistics},
      {"datasets", "sample_from_datasets(): iterate()", 200, 20, iterate_sample},
      {"datasets", "sample_from_datasets(): 10 draws each", 200, 50, draw_sample, 6, kLinear,
       "a draw searches log(n) sums, and falls on any dataset: no cache has its chunk"},
  };
}

}  // namespace infeed::growth
