#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include <infeed/infeed.h>

#include "records/temporary_files.h"

namespace infeed::test {

/// New folders for caches.
class FileCache : public ::testing::Test {
 protected:
  std::string fresh() { return folder_.file("cache" + std::to_string(count_++)); }

  /// Returns options that note events in kinds_ and elements_.
  FileCacheOptions noting(const std::string& path) {
    FileCacheOptions options{.path = path, .shard_bytes = 400};
    options.on_event = [this](const StoreEvent& event) {
      kinds_.push_back(event.kind);
      elements_ = event.elements;
      EXPECT_FALSE(event.message.empty());
      EXPECT_FALSE(event.folder.empty());
    };
    return options;
  }
  std::vector<StoreEvent::Kind> kinds() { return std::exchange(kinds_, {}); }

  /// Gives 0, 2, 4, ..., and counts the calls in calls_.
  auto doubles(std::int64_t count) {
    return range(count) | map([this](std::int64_t x) {
             ++calls_;
             return 2 * x;
           });
  }

  static std::vector<std::filesystem::path> shards(const std::string& path) {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".tfrecord") found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  TemporaryFolder folder_{test::memory_folder()};
  int count_ = 0;
  std::vector<StoreEvent::Kind> kinds_;
  std::uint64_t elements_ = 0;
  std::atomic<int> calls_ = 0;
};

}  // namespace infeed::test
