#include <chrono>
#include <gtest/gtest.h>
#include <malloc.h>
#include <string>
#include <vector>

#include <infeed/pipeline/indexed_records.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/parse_columns.h>
#include <infeed/pipeline/parse_sequences.h>
#include <infeed/pipeline/prefetch.h>
#include <infeed/pipeline/records.h>
#include <infeed/pipeline/repeat.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_writer.h>

#include "process_status.h"
#include "records/temporary_files.h"
#include "sanitizers.h"
#include "seeded_random.h"
#include "thrown_error.h"

// Batches whose size nobody knows beforehand.
namespace infeed::test {
namespace {

// The sanitizers keep what was freed.
constexpr bool kFreedIsGivenBack = !test::kAddressSanitizer && !test::kThreadSanitizer;

struct SwingingRow {
  std::vector<std::int64_t> tokens;
  std::vector<std::string> words;
};

class RowMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);  // as in memory_stress_test.cc
#endif
  }
  static constexpr std::int64_t kBatchRows = 32;

  /// Stretches of small records, and of records with up to 60 KB of text and 10,000 tokens.
  void write(std::size_t records, Compression compression) {
    RecordWriter writer(file_, {.compression = compression, .existing = ExistingFile::replace});
    std::size_t scale = 1;
    for (std::size_t i = 0; i < records; ++i) {
      if (random_.chance(0.01)) scale = random_.chance(0.5) ? 1 : 1 + random_.below(1000);
      ExampleBuilder builder;
      const std::vector<std::int64_t> tokens(random_.below(10 * scale + 1), 70'000);
      builder.integers("tokens", std::span<const std::int64_t>(tokens));
      builder.bytes("text", std::string(random_.below(60 * scale + 1), 'x'));
      const std::vector<std::string> words(random_.below(3), std::string(scale, 'w'));
      builder.bytes("words", std::span<const std::string>(words));
      writer.write(builder.encode());
    }
    writer.close();
  }
  static ColumnSchema columns() {
    return ColumnSchema().ragged("tokens", DType::int64).bytes("text").ragged_bytes("words");
  }

  /// Takes all batches, and checks the memory each time.
  template <class B>
  void expect_limit_kept(const Dataset<B>& batches, std::uint64_t limit) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    const std::uint64_t before = status_bytes("VmRSS");
    restart_resident_peak();
    auto iterator = batches.iterate({.memory_bytes_max = limit});
    std::uint64_t count = 0;
    while (iterator.next()) ++count;
    EXPECT_GT(count, 10U);
    EXPECT_LE(iterator.memory().peak_bytes(), limit);
    EXPECT_GE(iterator.memory().peak_bytes(), limit / 4) << "the limit was never near";
    if (kFreedIsGivenBack) {
      // Memory that pools keep for the next batches and blocks isn't counted. When batches counted
      // only once they were made, the same run took 53 to 77 MB.
      constexpr std::uint64_t kPoolsBytes = std::uint64_t{24} << 20;
      EXPECT_LE(status_bytes("VmHWM") - before, limit / 10 * 11 + kPoolsBytes);
    }
  }

  /// Goes on behind damaged batches; throws terminal errors.
  template <class B>
  static void take_stream_of_batches(Iterator<B>& iterator) {
    for (bool goes_on = true; goes_on;) {
      try {
        goes_on = iterator.next().has_value();
      } catch (const Error& error) {
        if (error.is_terminal()) throw;
        EXPECT_EQ(error.code(), ErrorCode::data_loss) << error.what();
      }
    }
  }

  SeededRandom random_;
  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("data");
};

TEST_F(RowMemory, KeepsToTheLimitWithRaggedAndBytesColumns) {
  constexpr std::uint64_t kLimit = 24'000'000;
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::lz4}) {
    write(4000, compression);
    for (const bool is_pulled : {false, true}) {
      SCOPED_TRACE(std::string(to_string(compression)) + (is_pulled ? " pulled" : " in blocks"));
      Dataset<Record> input = records(file_) | repeat(2);
      if (is_pulled) input = input | map([](const Record& record) { return record; });
      expect_limit_kept(
          input | parse_columns(columns(), kBatchRows, {.parallelism = 3}) | prefetch(), kLimit);
    }
  }
}

TEST_F(RowMemory, KeepsToTheLimitWithStructsOfSequences) {
  constexpr std::uint64_t kLimit = 24'000'000;
  write(4000, Compression::none);
  const auto schema = ExampleSchema<SwingingRow>()
                          .feature("tokens", &SwingingRow::tokens)
                          .feature("words", &SwingingRow::words);
  expect_limit_kept(
      records(file_) | repeat(2) | parse_ragged_batch(schema, kBatchRows, {.parallelism = 3}),
      kLimit);
}

/// However little room there is, the same batches come, or an Error says how much they need.
TEST_F(RowMemory, AnyLimitGivesTheSameBatchesOrAnError) {
  write(600, Compression::none);
  const auto hashes = [&](std::uint64_t limit, std::int64_t parallelism) {
    std::vector<std::uint64_t> all;
    auto iterator = (records(file_, {.block_bytes = 4096}) | repeat(2) |
                     parse_columns(columns(), 7, {.parallelism = parallelism}))
                        .iterate({.memory_bytes_max = limit});
    while (const auto batch = iterator.next()) all.push_back(batch->hash());
    return all;
  };
  const std::vector<std::uint64_t> expected = hashes(0, 1);
  std::size_t whole = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t limit = 1'000 + random_.below(std::size_t{1} << (14 + round % 12));
    SCOPED_TRACE("limit " + std::to_string(limit));
    try {
      ASSERT_EQ(hashes(limit, 1 + round % 4), expected);
      ++whole;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(whole, 5U);
  EXPECT_GT(refused, 5U);
}

/// The rest behind a damaged record need not be written; it kept the damaged batch from its end.
TEST_F(RowMemory, DamageEndsABatchInAnyLimit) {
  RecordWriter writer(file_, {.existing = ExistingFile::replace});
  for (std::size_t i = 0; i < 2000; ++i) {
    ExampleBuilder builder;
    const std::vector<std::int64_t> tokens(1 + random_.below(30), 7);
    builder.integers("tokens", std::span<const std::int64_t>(tokens));
    const std::vector<std::string> words(random_.below(3), "word");
    builder.bytes("words", std::span<const std::string>(words));
    writer.write(builder.encode());
  }
  writer.close();
  flip_bits(file_, std::filesystem::file_size(file_) / 2, 0x10);
  const auto schema = ExampleSchema<SwingingRow>()
                          .feature("tokens", &SwingingRow::tokens)
                          .feature("words", &SwingingRow::words);
  for (const std::int64_t rows : {16, 32}) {
    for (double limit = 4096; limit < 8'000'000; limit *= 1.13) {
      SCOPED_TRACE("limit " + std::to_string(limit));
      const auto batches = records(file_) | parse_ragged_batch(schema, rows);
      try {
        auto iterator = batches.iterate({.memory_bytes_max = static_cast<std::uint64_t>(limit),
                                         .watchdog = std::chrono::seconds(20)});
        take_stream_of_batches(iterator);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
      }
    }
  }
}

TEST_F(RowMemory, ThePlacesOfARecordSetCount) {
  RecordWriter writer(file_, {.index = true, .existing = ExistingFile::replace});
  for (int i = 0; i < 10'000; ++i) writer.write("record");
  writer.close();
  write_index(writer.index(), file_ + ".index");
  const RecordSet set(file_);
  EXPECT_GT(set.memory_bytes_max(), 40'000U);
  EXPECT_LT(set.memory_bytes_max(), 45'000U);
  EXPECT_EQ(set.select({1, 2, 3}).memory_bytes_max(), set.memory_bytes_max() + 24);
  auto iterator = indexed_records(set).iterate({.memory_bytes_max = 100'000});
  EXPECT_TRUE(iterator.next());
  EXPECT_GE(iterator.memory().peak_bytes(), set.memory_bytes_max());
  const Error error = error_of([&] { indexed_records(set).iterate({.memory_bytes_max = 40'000}); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_NE(std::string(error.message()).find("indexed_records"), std::string::npos);
}

}  // namespace
}  // namespace infeed::test
