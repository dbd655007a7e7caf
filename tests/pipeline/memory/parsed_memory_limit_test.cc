#include <array>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/example.h>
#include <infeed/records/record_writer.h>
#include <infeed/records/tensor_pool.h>

#include "pipeline/memory/limited_run.h"
#include "records/temporary_files.h"
#include "records/tfrecord/framed.h"
#include "seeded_random.h"

// Records that are parsed into batches; batches and readers keep memory for the next ones.
namespace infeed::test {
namespace {

constexpr std::size_t kPixels = 224 * 224 * 3;
constexpr std::int64_t kParsers = 4;

struct ParsedImage {
  std::array<float, kPixels> pixels;
};

class ParsedImages : public ::testing::Test {
 protected:
  ParsedImages() {
    RecordWriter writer(file_);
    for (int i = 0; i < 32; ++i) {
      const std::vector<float> pixels(kPixels, static_cast<float>(i));
      writer.write(ExampleBuilder().floats("pixels", std::span<const float>(pixels)).encode());
    }
    writer.close();
  }
  Dataset<Record> images() const { return records(file_) | repeat(8); }

  /// A batch of 16 images takes 9.2 MiB, and a tensor rounds it up to 10. Each parser makes an image,
  /// while a reader makes a stretch of up to 8 records.
  static LimitedRun run() {
    return {.limit_bytes = 32 * kMiB,
            .on_top_bytes = (kParsers + 8) * sizeof(ParsedImage),
            .next_batch_bytes = TensorPool::block_bytes(16 * sizeof(ParsedImage))};
  }

 private:
  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("images");
};

TEST_F(ParsedImages, InBatchesOfAStruct) {
  const auto schema = ExampleSchema<ParsedImage>().feature("pixels", &ParsedImage::pixels);
  expect_limit_kept(images() | parse_batch(schema, 16, {.parallelism = kParsers}) | prefetch(4),
                    run());
}

TEST_F(ParsedImages, InBatchesOfASchemaAtRunTime) {
  const auto schema = ColumnSchema().column("pixels", DType::float32, {224, 224, 3});
  expect_limit_kept(images() | parse_columns(schema, 16, {.parallelism = kParsers}) | prefetch(4),
                    run());
}

/// Rows whose sizes swing.
struct Sentence {
  std::vector<std::int64_t> tokens;
  std::vector<std::string> words;
};

class ParsedSentences : public ::testing::Test {
 protected:
  static constexpr std::size_t kTokensMax = 10'000;
  static constexpr std::size_t kWordBytesMax = 60'000;
  static constexpr std::int64_t kRows = 128;

  ParsedSentences() { write(Compression::none); }

  void write(Compression compression) {
    SeededRandom random;
    RecordWriter writer(file_, {.compression = compression, .existing = ExistingFile::replace});
    std::size_t scale = 1000;
    for (int i = 0; i < 1000; ++i) {
      if (random.chance(0.01)) scale = random.chance(0.25) ? 1 : 1 + random.below(1000);
      const std::vector<std::int64_t> tokens(random.below(kTokensMax / 1000 * scale + 1), 70'000);
      const std::vector<std::string> words(
          random.below(3), std::string(random.below(kWordBytesMax / 1000 * scale + 1), 'w'));
      ExampleBuilder builder;
      builder.integers("tokens", std::span<const std::int64_t>(tokens));
      builder.bytes("words", std::span<const std::string>(words));
      writer.write(builder.encode());
    }
    writer.close();
  }
  Dataset<Record> sentences() const { return records(file_) | repeat(6); }
  static ExampleSchema<Sentence> schema() {
    return ExampleSchema<Sentence>()
        .feature("tokens", &Sentence::tokens)
        .feature("words", &Sentence::words);
  }

  static constexpr std::uint64_t kRowBytesMax =
      kTokensMax * sizeof(std::int64_t) + 2 * kWordBytesMax;
  static constexpr LimitedRun run_with(std::uint64_t limit_bytes) {
    return {.limit_bytes = limit_bytes,
            .on_top_bytes = kParsers * kRowBytesMax,
            .next_batch_bytes = kRows * kRowBytesMax};
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("sentences");
};

TEST_F(ParsedSentences, InRaggedBatches) {
  const auto batches = sentences() | parse_ragged_batch(schema(), kRows, {.parallelism = kParsers});
  expect_limit_kept(batches, run_with(24 * kMiB));
}

TEST_F(ParsedSentences, InRaggedBatchesThatAreHandedOverManyAtATime) {
  // The queue's quarter of the limit has room for several batches, which the consumer takes at once.
  const auto batches = sentences() | parse_ragged_batch(schema(), kRows, {.parallelism = kParsers});
  expect_limit_kept(batches, run_with(160 * kMiB));
}

TEST_F(ParsedSentences, InRaggedColumns) {
  const auto columns = ColumnSchema().ragged("tokens", DType::int64).ragged_bytes("words");
  const auto same = [](const Record& record) { return record; };
  for (const Compression compression : {Compression::lz4, Compression::gzip, Compression::none}) {
    write(compression);
    for (const bool is_pulled : {true, false}) {
      SCOPED_TRACE(std::string(to_string(compression)) + (is_pulled ? " pulled" : " in blocks"));
      const Dataset<Record> input = is_pulled ? sentences() | map(same) : sentences();
      expect_limit_kept(
          input | parse_columns(columns, kRows, {.parallelism = kParsers}) | prefetch(100),
          run_with(24 * kMiB));
    }
  }
}

TEST_F(ParsedSentences, AsRecordsOfManyFilesAtOnce) {
  const auto open = [file = file_](std::int64_t) { return records(file); };
  const auto all =
      range(4) | interleave(open, {.cycle_length = 4, .parallelism = kParsers}) | prefetch(100'000);
  expect_limit_kept(all, run_with(16 * kMiB));
}

TEST_F(ParsedSentences, AsRecordsThatThreadsDecompress) {
  write(Compression::lz4);
  const auto all = records(file_, {.parallelism = kParsers}) | repeat(2) | prefetch(100'000);
  expect_limit_kept(all, run_with(16 * kMiB));
}

TEST(ReadRecords, OfManyGzipMembers) {
  const TemporaryFolder folder;
  std::string members;
  for (int i = 0; i < 4000; ++i) members += gzip(frame(std::to_string(i)));
  const auto few_at_a_time = records(folder.write("members", members), {.parallelism = 2});
  expect_limit_kept(few_at_a_time, {.limit_bytes = 8 * kMiB});
}

}  // namespace
}  // namespace infeed::test
