#include <array>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/record_writer.h>

#include "pipeline/memory/limited_run.h"
#include "temporary_folder.h"

// A memory limit is tested by the allocator's figures, not by the account's own.
// benchmarks/memory_limit.py prints them.
namespace infeed::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Returns a function whose results have so many bytes.
auto result_of(std::uint64_t bytes) {
  return [bytes](std::int64_t number) { return Bytes(bytes, static_cast<std::uint8_t>(number)); };
}

TEST(LimitedMemory, ParallelMapWithManyCallsUnderWay) {
  const auto results = range(80) | map(result_of(kMiB), {.parallelism = 16});
  expect_limit_kept(results, {.limit_bytes = 8 * kMiB, .on_top_bytes = 16 * kMiB});
}

TEST(LimitedMemory, ParallelMapWithResultsThatAreLargeForTheLimit) {
  const auto results = range(24) | map(result_of(16 * kMiB), {.parallelism = 4});
  expect_limit_kept(results, {.limit_bytes = 24 * kMiB, .on_top_bytes = 4 * 16 * kMiB});
}

TEST(LimitedMemory, UnorderedParallelMap) {
  const auto results = range(80) | map(result_of(kMiB), {.parallelism = 16, .ordered = false});
  expect_limit_kept(results, {.limit_bytes = 8 * kMiB, .on_top_bytes = 16 * kMiB});
}

/// 224 x 224 pixels of three floats: 588 KiB.
struct FloatImage {
  std::array<float, 224 * 224 * 3> pixels;
};

constexpr std::uint64_t batch_bytes(std::uint64_t rows) { return rows * (sizeof(FloatImage) + 64); }

Dataset<Batch<FloatImage>> images(std::int64_t batches, std::int64_t batch_size) {
  const auto draw = [](std::int64_t number, const Row<FloatImage>& row) {
    row.column(&FloatImage::pixels).fill(static_cast<float>(number));
  };
  return range(batches * batch_size) | batch_into<FloatImage>(batch_size, draw, {.parallelism = 2});
}

TEST(LimitedMemory, BatchesOfWhichOneFits) {
  // Each batch takes 36.75 MiB, of the 37.5 that the limit leaves to a stage's needs.
  expect_limit_kept(images(6, 64) | prefetch(2),
                    {.limit_bytes = 50 * kMiB, .next_batch_bytes = batch_bytes(64)});
}

TEST(LimitedMemory, FivePrefetchesBehindEachOther) {
  const auto batches =
      images(16, 16) | prefetch(4) | prefetch(4) | prefetch(4) | prefetch(4) | prefetch(4);
  expect_limit_kept(batches, {.limit_bytes = 16 * kMiB, .next_batch_bytes = batch_bytes(16)});
}

TEST(LimitedMemory, ASampleOfTenStagesThatFillBatches) {
  std::vector<Dataset<Batch<FloatImage>>> inputs;
  for (int i = 0; i < 10; ++i) inputs.push_back(images(2, 16));
  expect_limit_kept(sample_from_datasets(inputs, {.seed = 1}) | prefetch(),
                    {.limit_bytes = 128 * kMiB, .next_batch_bytes = batch_bytes(16)});
}

TEST(LimitedMemory, RebatchedBatches) {
  const auto batches = images(12, 16) | rebatch(24) | prefetch();
  expect_limit_kept(batches, {.limit_bytes = 50 * kMiB, .next_batch_bytes = batch_bytes(16)});
}

TEST(LimitedMemory, UnbatchedBatches) {
  const auto rows = images(8, 16) | unbatch() | prefetch(1000);
  expect_limit_kept(rows, {.limit_bytes = 50 * kMiB, .on_top_bytes = sizeof(FloatImage)});
}

/// A record keeps the block that it was read in, and a shuffle's buffer has records of nearly all
/// blocks: it held 60 MB for these 16.
TEST(LimitedMemory, ShuffledRecords) {
  constexpr int kRecords = 30'000;
  const TemporaryFolder folder;
  {
    RecordWriter writer(folder.file("records"));
    for (int i = 0; i < kRecords; ++i) writer.write(std::string(2000, static_cast<char>(i)));
    writer.close();
  }
  expect_limit_kept(records(folder.file("records")) | shuffle({.buffer = 8000, .seed = 1}),
                    {.limit_bytes = 24 * kMiB});
}

struct Block {
  std::array<std::uint8_t, kMiB> bytes;
};

TEST(LimitedMemory, AConsumerThatOnceHeldManyBatches) {
  constexpr std::uint64_t kLimitBytes = 8 * kMiB;
  const auto fill = [](std::int64_t number, const Row<Block>& row) {
    row.column(&Block::bytes).fill(static_cast<std::uint8_t>(number));
  };
  const auto batches = range(200) | batch_into<Block>(1, fill, {.parallelism = 2}) | prefetch();
  CountedMemory memory;
  {
    auto iterator = batches.iterate();
    {
      std::vector<Batch<Block>> held;
      for (int i = 0; i < 64; ++i) held.push_back(*iterator.next());
      iterator.set_memory_limit(kLimitBytes);
    }
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(iterator.next());  // more than was kept ready
    memory.restart_peak();
    while (iterator.next()) continue;
    EXPECT_LE(memory.peak_bytes(), kLimitBytes + kSlackBytes);
  }
  EXPECT_LE(memory.held_bytes(), kLeftoverBytes);
}

TEST(LimitedMemory, PaddedBatchOfOneLongElement) {
  constexpr std::size_t kLongBytes = 4'000'000;
  const auto element = [](std::int64_t number) {
    return Bytes(number == 50 ? kLongBytes : 1000, std::uint8_t{1});
  };
  expect_limit_kept(range(100) | map(element) | padded_batch(32),
                    {.limit_bytes = 20 * kMiB, .on_top_bytes = kLongBytes, .may_refuse = true});
}

TEST(LimitedMemory, BatchOfLargeVectors) {
  constexpr std::size_t kVectorBytes = 10'000'000;
  expect_limit_kept(range(16) | map(result_of(kVectorBytes)) | batch(8),
                    {.limit_bytes = 20 * kMiB, .on_top_bytes = kVectorBytes, .may_refuse = true});
}

TEST(LimitedMemory, RaggedBatches) {
  constexpr std::size_t kRowBytesMax = 100'000;
  const auto row = [](std::int64_t number) {
    return Bytes(static_cast<std::size_t>(number * 7919) % kRowBytesMax, std::uint8_t{1});
  };
  const auto same = [](RaggedBatch<Bytes> batch) { return batch; };
  const auto batches =
      range(3200) | map(row) | ragged_batch(32) | map(same, {.parallelism = 4}) | prefetch(100);
  expect_limit_kept(batches, {.limit_bytes = 16 * kMiB, .on_top_bytes = 4 * 32 * kRowBytesMax});
}

TEST(LimitedMemory, WindowsThatOverlap) {
  const auto windows =
      range(80) | map(result_of(kMiB)) | window({.size = 16, .shift = 4}) | prefetch();
  expect_limit_kept(windows, {.limit_bytes = 64 * kMiB, .on_top_bytes = 16 * kMiB});
}

/// Returns a function that gives texts of so many characters.
auto text_of(std::size_t bytes) {
  return [bytes](std::int64_t number) {
    return std::string(bytes + static_cast<std::size_t>(number % 100), 'x');
  };
}

TEST(LimitedMemory, TextsThatAStageHandsOverManyAtATime) {
  constexpr std::size_t kTextBytes = 64 << 10;
  const auto texts = range(2560) | map(text_of(kTextBytes)) | window({.size = 256}) | unbatch() |
                     prefetch(1000) | prefetch(1000);
  expect_limit_kept(texts, {.limit_bytes = 48 * kMiB, .on_top_bytes = 257 * kTextBytes});
}

TEST(LimitedMemory, LargeTextsOfAParallelInterleave) {
  const auto read = [](std::int64_t) { return range(20) | map(text_of(kMiB)); };
  const auto texts =
      range(20) | interleave(read, {.cycle_length = 16, .parallelism = 4}) | prefetch(1000);
  expect_limit_kept(texts, {.limit_bytes = 16 * kMiB, .on_top_bytes = 4 * kMiB});
}

TEST(LimitedMemory, TextsOfAParallelInterleave) {
  const auto read = [](std::int64_t) { return range(1500) | map(text_of(1000)); };
  const auto texts =
      range(20) | interleave(read, {.cycle_length = 16, .parallelism = 4}) | prefetch(100'000);
  expect_limit_kept(texts, {.limit_bytes = 8 * kMiB});
}

TEST(LimitedMemory, TextsOfAParallelMap) {
  const auto longer = [](std::string text) { return text + "abcdefgh"; };
  const auto texts = range(30'000) | map(text_of(1000)) | map(longer, {.parallelism = 4}) |
                     prefetch(100'000) | map(longer, {.parallelism = 4, .ordered = false});
  expect_limit_kept(texts, {.limit_bytes = 8 * kMiB});
}

TEST(LimitedMemory, ShuffledTexts) {
  const auto texts = range(30'000) | map(text_of(1000)) | shuffle({.buffer = 10'000, .seed = 1}) |
                     prefetch(100'000);
  expect_limit_kept(texts, {.limit_bytes = 20 * kMiB});
}

/// Fails for all numbers but each 32nd.
struct Rare {
  Rare() = default;
  explicit Rare(std::int64_t number) {
    if (number % 32 != 0)
      throw std::runtime_error(std::to_string(number) + " is no multiple of 32");
    values.fill(number);
  }
  std::array<std::int64_t, 128> values;
};
constexpr auto kRare = [](std::int64_t number) { return Rare(number); };

TEST(LimitedMemory, ErrorsOfAParallelMap) {
  const auto rare = range(40'000) | map(kRare, {.parallelism = 4}) | skip_errors();
  expect_limit_kept(rare, {.limit_bytes = 8 * kMiB});
}

TEST(LimitedMemory, ErrorsInAQueue) {
  const auto rare = range(40'000) | map(kRare) | prefetch(100'000) | skip_errors();
  expect_limit_kept(rare, {.limit_bytes = 8 * kMiB});
}

TEST(LimitedMemory, ErrorsOfAParallelInterleave) {
  const auto read = [](std::int64_t) { return range(10'000) | map(kRare); };
  const auto rare =
      range(4) | interleave(read, {.cycle_length = 4, .parallelism = 4}) | skip_errors();
  expect_limit_kept(rare, {.limit_bytes = 8 * kMiB});
}

/// Gives each 32nd number, and fails for the others.
constexpr auto kRareNumber = [](std::int64_t number) {
  if (number % 32 != 0) throw std::runtime_error(std::to_string(number) + " is no multiple of 32");
  return number;
};

TEST(LimitedMemory, ErrorsCountForWhatTheyTake) {
  if (!kMemoryIsCounted) return;
  const auto rare = range(50'000) | map(kRareNumber) | shuffle({.buffer = whole_input, .seed = 1});
  const CountedMemory memory;
  auto iterator = rare.iterate();
  try {
    iterator.next();
  } catch (const Error&) {  // that of the first element
  }
  const auto held = static_cast<double>(memory.held_bytes());
  EXPECT_NEAR(static_cast<double>(iterator.memory().in_use_bytes()), held, held / 4);
}

TEST(LimitedMemory, ErrorsInAShuffle) {
  const auto rare = range(100'000) | map(kRareNumber) |
                    shuffle({.buffer = whole_input, .seed = 1}) | skip_errors();
  expect_limit_kept(rare, {.limit_bytes = 8 * kMiB, .may_refuse = true});
}

TEST(LimitedMemory, ErrorsInACache) {
  const auto rare = range(100'000) | map(kRareNumber) | cache() | skip_errors();
  expect_limit_kept(rare, {.limit_bytes = 8 * kMiB, .may_refuse = true});
}

TEST(LimitedMemory, ErrorsInAWindow) {
  const auto rare = range(200'000) | map(kRareNumber) |
                    window({.size = 100'000, .drop_remainder = true}) | skip_errors();
  expect_limit_kept(rare, {.limit_bytes = 8 * kMiB, .may_refuse = true});
}

struct RareNumber {
  std::int64_t number;
};

/// The batch has room for all that doesn't fail, so its threads read on until there is no memory.
TEST(LimitedMemory, ErrorsBeforeABatch) {
  constexpr std::uint64_t kLimitBytes = 8 * kMiB;
  const auto fill = [](std::int64_t number, const Row<RareNumber>& row) {
    row.column(&RareNumber::number) = number;
  };
  const auto batches =
      range(96'000) | map(kRareNumber) | batch_into<RareNumber>(100'000, fill, {.parallelism = 2});
  const CountedMemory memory;
  {
    auto iterator = batches.iterate({.memory_bytes_max = kLimitBytes});
    EXPECT_THROW(iterator.next(), Error);
    wait_until_still(iterator);
    EXPECT_LE(iterator.memory().peak_bytes(), kLimitBytes);
    EXPECT_LE(memory.peak_bytes(), kLimitBytes + kSlackBytes);
    for (int error = 1; error < 93'000; ++error) ASSERT_THROW(iterator.next(), Error) << error;
    EXPECT_EQ(iterator.next()->size(), 3000U);
    EXPECT_FALSE(iterator.next());
  }
  EXPECT_LE(memory.held_bytes(), kLeftoverBytes);
}

TEST(LimitedMemory, CachedTextsAreAllThatADatasetKeeps) {
  constexpr std::uint64_t kTextBytes = 1000 + 100 + 2 * sizeof(std::string);
  const auto texts = range(10'000) | map(text_of(1000)) | cache() | repeat(2) | prefetch(100'000);
  expect_limit_kept(texts, {.limit_bytes = 20 * kMiB, .kept_bytes = 10'000 * kTextBytes});
}

}  // namespace
}  // namespace infeed::test
