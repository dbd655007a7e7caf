#include <benchmark/benchmark.h>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

#include <infeed/pipeline/global_shuffle.h>
#include <infeed/pipeline/indexed_records.h>
#include <infeed/pipeline/records.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_set.h>

#include "benchmark_folder.h"

/// Rows of record files on one core, the page cache warm, beside the ceiling of the same run (a
/// system call for each record) and beside records() in order.
namespace infeed {
namespace {

/// The ceiling of random rows: the system's call into warm memory, without a look at the bytes.
void BM_pread_at_random(benchmark::State& state) {
  const auto payload_bytes = static_cast<std::size_t>(state.range(0));
  const std::string file = folder().records(payload_bytes, Compression::none);
  const int descriptor = ::open(file.c_str(), O_RDONLY);
  std::vector<char> record(payload_bytes + 16);
  const std::uint64_t count = std::filesystem::file_size(file) / record.size();
  std::mt19937_64 random(1);
  for (auto _ : state) {
    const auto offset = static_cast<off_t>(random() % count * record.size());
    benchmark::DoNotOptimize(::pread(descriptor, record.data(), record.size(), offset));
  }
  ::close(descriptor);
  count_bytes(state, state.iterations(), state.iterations() * payload_bytes);
}
BENCHMARK(BM_pread_at_random)->Arg(600)->Arg(2048)->Arg(112 << 10);

/// Reads rows of a file with an index, in the order of the file or in a random one, several a call.
void read_rows(benchmark::State& state, std::vector<std::uint64_t> order) {
  const auto at_once = static_cast<std::size_t>(state.range(1));
  const auto payload_bytes = static_cast<std::size_t>(state.range(0));
  const RecordSet set({folder().records(payload_bytes, Compression::none)},
                      {.without_index = WithoutIndex::scan});
  for (std::uint64_t& row : order) row %= set.size();
  std::vector<Record> records(at_once);
  std::size_t begin = 0;
  std::size_t read = 0;
  for (auto _ : state) {
    const auto rows = std::span(order).subspan(begin, at_once);
    for (std::size_t done = 0; done < at_once;) {
      done += set.read(rows.subspan(done), std::span(records).subspan(done));
    }
    begin = begin + 2 * at_once > order.size() ? 0 : begin + at_once;
    read += at_once;
  }
  count_bytes(state, read, read * payload_bytes);
}

void BM_read_rows_at_random(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> order(std::size_t{1} << 20);
  for (std::uint64_t& row : order) row = random();
  read_rows(state, std::move(order));
}
BENCHMARK(BM_read_rows_at_random)->ArgsProduct({{600, 2048, 112 << 10}, {1, 256}});

void BM_read_rows_in_order(benchmark::State& state) {
  std::vector<std::uint64_t> order(std::size_t{1} << 20);
  std::iota(order.begin(), order.end(), 0);
  read_rows(state, std::move(order));
}
BENCHMARK(BM_read_rows_in_order)->ArgsProduct({{600, 2048, 112 << 10}, {256}});

/// Takes and drops each element of a pipeline.
void drain(benchmark::State& state, const Dataset<Record>& dataset) {
  std::size_t records = 0;
  std::size_t bytes = 0;
  for (auto _ : state) {
    Iterator<Record> iterator = dataset.iterate();
    while (const std::optional<Record> record = iterator.next()) {
      ++records;
      bytes += record->size() + 16;
    }
  }
  count_bytes(state, records, bytes);
}

std::string indexed_file(benchmark::State& state) {
  const std::string file =
      folder().records(static_cast<std::size_t>(state.range(0)), Compression::none);
  write_index(index_records(file), file + ".index");
  return file;
}

void BM_pipeline_records(benchmark::State& state) { drain(state, records(indexed_file(state))); }
BENCHMARK(BM_pipeline_records)->Arg(64)->Arg(600)->Arg(2048)->Arg(112 << 10);

void BM_pipeline_indexed_records(benchmark::State& state) {
  drain(state, indexed_records(indexed_file(state)));
}
BENCHMARK(BM_pipeline_indexed_records)->Arg(64)->Arg(600)->Arg(2048)->Arg(112 << 10);

void BM_pipeline_indexed_records_shuffled(benchmark::State& state) {
  drain(state, indexed_records(indexed_file(state)) | global_shuffle({.seed = 1}));
}
BENCHMARK(BM_pipeline_indexed_records_shuffled)->Arg(600)->Arg(2048)->Arg(112 << 10);

}  // namespace
}  // namespace infeed

BENCHMARK_MAIN();
