#include <cstring>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

#include <infeed/records/parallel_record_reader.h>
#include <infeed/records/record_reader.h>

#include "io/direct/direct_source.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "records/thrown_error.h"

namespace infeed {
namespace {

using detail::ByteSource;
using detail::DirectReads;
using testing::error_of;
using testing::TemporaryFolder;

constexpr std::size_t kBlock = std::size_t{1} << 20;

/// Quicker than byte by byte.
std::string many_bytes(std::mt19937_64& random, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    const std::uint64_t value = random();
    std::memcpy(bytes.data() + i, &value, 8);
  }
  return bytes;
}

/// Both ways to have several reads at work, each on a disk and in memory (where O_DIRECT may not be
/// known).
class DirectReading : public ::testing::TestWithParam<std::tuple<DirectReads, bool>> {
 protected:
  std::unique_ptr<ByteSource> open(const std::string& file) const {
    return detail::make_direct_source(File::open_to_read(file), std::get<0>(GetParam()));
  }
  static std::string read_all(ByteSource& source, std::size_t at_once = 300'000) {
    std::string all;
    std::string part(at_once, '\0');
    while (const std::size_t got = source.read(part)) all.append(part, 0, got);
    return all;
  }

  const std::uint64_t seed_ = testing::test_seed();
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "INFEED_TEST_SEED=" + std::to_string(seed_)};
  std::mt19937_64 random_{seed_};
  const TemporaryFolder folder_{std::get<1>(GetParam()) ? testing::memory_folder()
                                                        : std::filesystem::path("/var/tmp")};
};

INSTANTIATE_TEST_SUITE_P(
    All, DirectReading,
    ::testing::Combine(::testing::Values(DirectReads::any, DirectReads::threads),
                       ::testing::Bool()),
    [](const auto& drawn) {
      return std::string(std::get<0>(drawn.param) == DirectReads::any ? "IoUring" : "Threads") +
             (std::get<1>(drawn.param) ? "InMemory" : "OnDisk");
    });

TEST_P(DirectReading, GivesTheBytesOfFilesOfAllSizes) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096}, kBlock - 1, kBlock,
        kBlock + 1, 8 * kBlock, 11 * kBlock + 77}) {
    const std::string bytes = many_bytes(random_, size);
    const auto source = open(folder_.write("file", bytes));
    EXPECT_EQ(source->size_bytes(), size);
    EXPECT_TRUE(read_all(*source) == bytes) << size;
  }
}

TEST_P(DirectReading, Jumps) {
  const std::string bytes = many_bytes(random_, 12 * kBlock + 5);
  const auto source = open(folder_.write("file", bytes));
  std::string part(1000, '\0');
  for (int i = 0; i < 60; ++i) {
    const std::size_t at = random_() % (i % 2 == 0 ? bytes.size() : 3 * kBlock);
    source->seek(at);
    const std::size_t got = source->read(part);
    ASSERT_GT(got, 0U);
    ASSERT_EQ(part.substr(0, got), bytes.substr(at, got)) << at;
  }
  source->seek(bytes.size());
  EXPECT_EQ(source->read(part), 0U);
}

TEST_P(DirectReading, EndsWhereAFileWasCutMeanwhile) {
  const std::string bytes = many_bytes(random_, 10 * kBlock);
  const std::string file = folder_.write("file", bytes);
  const auto source = open(file);
  ASSERT_EQ(::truncate(file.c_str(), 2 * kBlock + 10), 0);
  EXPECT_TRUE(read_all(*source) == bytes.substr(0, 2 * kBlock + 10));
}

TEST_P(DirectReading, IsDestroyedWhileReadsAreAtWork) {
  const std::string file = folder_.write("file", many_bytes(random_, 9 * kBlock));
  for (int i = 0; i < 10; ++i) {
    const auto source = open(file);
    char byte = 0;
    EXPECT_EQ(source->read({&byte, 1}), 1U);
  }
}

struct ReadResult {
  std::vector<std::string> payloads;
  std::string error;
  std::vector<std::string> damage;
  bool operator==(const ReadResult&) const = default;
};

ReadResult read_records(const std::string& file, FileAccess access, DamagePolicy policy) {
  ReadResult result;
  try {
    RecordReader reader(file, {.damage = policy, .access = access});
    Record record;
    try {
      while (reader.next(record)) result.payloads.emplace_back(record.bytes());
    } catch (const Error& error) {
      result.error = error.what();
    }
    for (const DamagedRange& range : reader.damaged()) result.damage.push_back(range.message);
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

TEST(DirectReaders, AgreeWithThePageCacheInAllTheyGive) {
  const std::uint64_t seed = testing::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const TemporaryFolder folder(std::filesystem::path("/var/tmp"));
  std::vector<std::string> payloads;
  for (int i = 0; i < 800; ++i) payloads.push_back(testing::random_bytes(random, random() % 9000));
  const std::string whole = testing::frame(payloads);
  for (int i = 0; i < 20; ++i) {
    std::string bytes = i % 3 == 0 ? testing::gzip(whole) : whole;
    if (i % 4 != 0) bytes[random() % bytes.size()] ^= 1;
    if (i % 5 == 0) bytes.resize(random() % bytes.size());
    const std::string file = folder.write("file", bytes);
    for (const DamagePolicy policy : {DamagePolicy::fail, DamagePolicy::skip_and_resynchronise}) {
      const ReadResult cached = read_records(file, FileAccess::page_cache, policy);
      EXPECT_TRUE(read_records(file, FileAccess::direct, policy) == cached) << i;
    }
  }
  for (const std::string& name : {folder.file("missing"), folder.path().string()}) {
    EXPECT_EQ(read_records(name, FileAccess::direct, DamagePolicy::fail).error,
              read_records(name, FileAccess::page_cache, DamagePolicy::fail).error);
  }
}

TEST(DirectReaders, WorkInAParallelReader) {
  const TemporaryFolder folder(std::filesystem::path("/var/tmp"));
  const std::vector<std::string> payloads(300, std::string(10'000, 'p'));
  const std::string file = folder.write("file", testing::frame(payloads));
  ParallelRecordReader reader(file, {.reader = {.access = FileAccess::direct}});
  EXPECT_EQ(reader.how(),
            "one thread decodes ahead; several reads past the page cache are at work");
  std::vector<std::string> read;
  Record record;
  while (reader.next(record)) read.emplace_back(record.bytes());
  EXPECT_EQ(read, payloads);
}

}  // namespace
}  // namespace infeed
