#pragma once

#include <benchmark/benchmark.h>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

#include <infeed/records/record_writer.h>

#include "temporary_folder.h"

/// The record files that benchmarks read, and how they count.
namespace infeed {

inline constexpr std::size_t kFileBytes = std::size_t{128} << 20;

class BenchmarkFolder {
 public:
  /// A file of records of `payload_bytes`, made once.
  std::string records(std::size_t payload_bytes, Compression compression) {
    std::string name =
        folder_.file(std::to_string(payload_bytes) + "-" + std::string(to_string(compression)));
    if (std::filesystem::exists(name)) return name;
    std::mt19937_64 random(1);
    static constexpr std::string_view kLetters = "etaoin shrdlu";
    std::string payload(payload_bytes, '\0');
    const bool is_gzip = compression == Compression::gzip;
    RecordWriter writer(name, {.compression = compression,
                               .flush_point_bytes = std::uint64_t{is_gzip ? 1U : 0U} << 20});
    const std::size_t bytes = compression == Compression::none ? kFileBytes : kFileBytes / 4;
    while (writer.position().offset < bytes) {
      for (char& c : payload) c = kLetters[random() % kLetters.size()];
      writer.write(payload);
    }
    writer.close();
    return name;
  }

 private:
  const TemporaryFolder folder_;
};

inline BenchmarkFolder& folder() {
  static BenchmarkFolder folder;
  return folder;
}

inline void count_bytes(benchmark::State& state, std::size_t records, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}

}  // namespace infeed
