#include <infeed/infeed.h>
#include <infeed/records/files.h>
#include <infeed/records/record_writer.h>

#include "pipeline/sources/value_of_record.h"
#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// Writes records first .. first+count-1, each `bytes` long.
void write_numbers(const std::string& file, std::int64_t first, std::int64_t count,
                   std::size_t bytes = 8, Compression compression = Compression::none) {
  RecordWriter writer(file, {.compression = compression, .existing = ExistingFile::replace});
  for (std::int64_t i = first; i < first + count; ++i) {
    std::string text = std::to_string(i);
    writer.write(text.insert(0, bytes - std::min(bytes, text.size()), '0'));
  }
  writer.close();
}

std::vector<std::int64_t> integers(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = first; i < first + count; ++i) values.push_back(i);
  return values;
}

/// Shards of `per_file` records: number i * per_file and so on in file i.
class Records : public ::testing::Test {
 protected:
  void write(std::uint32_t files, std::int64_t per_file, std::size_t bytes = 8) {
    for (std::uint32_t i = 0; i < files; ++i) {
      list_.push_back(shard_name(folder_.file("train"), {files, i}));
      write_numbers(list_.back(), std::int64_t{i} * per_file, per_file, bytes);
    }
  }
  /// Flips a bit of record `number` (each `bytes` long) of a file.
  void damage(std::size_t file, std::size_t number, std::size_t bytes = 8) {
    flip_bits(list_[file], number * (bytes + 16) + 12);
  }
  std::string pattern() const { return folder_.file("train-*"); }

  TemporaryFolder folder_;
  std::vector<std::string> list_;
};

TEST_F(Records, PassTheSuite) {
  write(4, 90);
  run_source_suite([&] { return records(pattern()); }, numbers(integers(0, 360)));
}

TEST_F(Records, NamesInBracesAreAList) {
  write(2, 2);
  // Two pointers of the same type could be a std::string's begin and end, too.
  const char* const first = list_[0].c_str();
  const char* const second = list_[1].c_str();
  EXPECT_EQ(stream_of(records({first, second}, {.parallelism = 2U})), numbers({0, 1, 2, 3}));
  EXPECT_EQ(stream_of(records({second})), numbers({2, 3}));
  EXPECT_EQ(stream_of(files({second, first}) |
                      flat_map([](const std::string& file) { return records(file); })),
            numbers({2, 3, 0, 1}));
  EXPECT_EQ(match_files({second, first}), (std::vector<std::string>{second, first}));
}

TEST_F(Records, PassTheSuiteRepeatedAndShuffled) {
  write(3, 40);
  const auto make = [&] {
    return records(pattern()) | shuffle({.buffer = 20, .seed = 3}) | repeat(3);
  };
  run_source_suite(make, stream_of(make()));
}

TEST_F(Records, MappedOnesPassTheSuite) {
  write(4, 90);
  const auto mapped = [&](const Count& parallelism) {
    return records(pattern(), {.parallelism = parallelism, .map_files = true});
  };
  run_source_suite([&] { return mapped(1); }, numbers(integers(0, 360)));
  run_source_suite([&] { return mapped(autotune); }, numbers(integers(0, 360)));
  const auto shuffled = [](const Dataset<Record>& source) {
    return source | shuffle({.buffer = 50, .seed = 3}) | repeat(2);
  };
  EXPECT_EQ(stream_of(shuffled(mapped(autotune))), stream_of(shuffled(records(pattern()))));
}

TEST_F(Records, LargeOnes) {
  write(2, 60, 20'000);
  run_source_suite([&] { return records(pattern()) | cache(); }, numbers(integers(0, 120)));
}

TEST_F(Records, CompressedOnes) {
  write_numbers(folder_.file("a.gz"), 0, 500, 8, Compression::gzip);
  write_numbers(folder_.file("b"), 500, 20);
  write_numbers(folder_.file("c.zlib"), 520, 100, 8, Compression::zlib);
  run_source_suite([&] { return records(folder_.file("*")); }, numbers(integers(0, 620)));
}

/// A file of records of many segments, in each of the forms that threads share.
class ParallelRecords : public Records, public ::testing::WithParamInterface<RecordWriterOptions> {
 protected:
  static constexpr std::size_t kBytes = 4000;
  /// Two files of 300 records, 1.2 MB each: 18 segments.
  void write_two() {
    for (const std::int64_t first : {0, 300}) {
      RecordWriterOptions options = GetParam();
      options.existing = ExistingFile::replace;
      list_.push_back(folder_.file("train-" + std::to_string(first)));
      RecordWriter writer(list_.back(), options);
      for (std::int64_t i = first; i < first + 300; ++i) {
        std::string text = std::to_string(i);
        writer.write(text.insert(0, kBytes - text.size(), '0'));
      }
      writer.close();
    }
  }
  static RecordsOptions options(int parallelism) {
    return {.parallelism = parallelism, .read_ahead_bytes = 256 << 10};
  }
};

INSTANTIATE_TEST_SUITE_P(Forms, ParallelRecords,
                         ::testing::Values(RecordWriterOptions{},
                                           RecordWriterOptions{.compression = Compression::lz4},
                                           RecordWriterOptions{.compression = Compression::gzip,
                                                               .flush_point_bytes = 64 << 10},
                                           RecordWriterOptions{.compression = Compression::gzip}),
                         [](const auto& test) {
                           return test.param.flush_point_bytes != 0
                                      ? std::string("gzip_points")
                                      : std::string(to_string(test.param.compression));
                         });

TEST_P(ParallelRecords, PassTheSuite) {
  write_two();
  for (const int parallelism : {2, 3, autotune}) {
    SCOPED_TRACE(parallelism);
    run_source_suite([&] { return records(list_, options(parallelism)); },
                     numbers(integers(0, 600)));
  }
}

TEST_P(ParallelRecords, ResumeAnywhereWithAnotherParallelism) {
  write_two();
  for (const std::int64_t at : {1, 63, 299, 300, 301, 450, 599, 600}) {
    for (const int parallelism : {1, 3}) {
      Iterator<Record> iterator = records(list_, options(4 - parallelism)).iterate();
      take_stream(iterator, static_cast<std::size_t>(at));
      Iterator<Record> resumed =
          records(list_, options(parallelism)).iterate({.resume = iterator.checkpoint()});
      EXPECT_EQ(take_stream(resumed), numbers(integers(at, 600 - at))) << at;
    }
  }
}

TEST_P(ParallelRecords, ReadLessAheadWhereMemoryIsShort) {
  write_two();
  for (const std::uint64_t memory_bytes_max : {4 << 20, 512 << 10, 4 << 10}) {
    Iterator<Record> iterator =
        records(list_, {.parallelism = 3}).iterate({.memory_bytes_max = memory_bytes_max});
    EXPECT_EQ(take_stream(iterator), numbers(integers(0, 600)));
  }
}

TEST_F(Records, WhatOpenFilesHoldIsInTheAccount) {
  constexpr std::uint64_t kBlock = std::uint64_t{512} << 10;
  constexpr std::int64_t kFiles = 6;
  for (std::uint32_t i = 0; i < kFiles; ++i) {
    list_.push_back(folder_.file("large-" + std::to_string(i)));
    write_numbers(list_.back(), i * 200, 200, 10'000);
  }
  const auto peak_of = [&](std::uint64_t memory_bytes_max) {
    Iterator<Record> iterator =
        (files(list_) |
         interleave([](const std::string& file) { return records(file, {.parallelism = 1}); },
                    {.cycle_length = kFiles, .parallelism = 1}))
            .iterate({.memory_bytes_max = memory_bytes_max});
    for (int i = 0; i < kFiles; ++i) EXPECT_TRUE(iterator.next());
    return iterator.memory().peak_bytes();
  };
  EXPECT_GE(peak_of(0), kFiles * kBlock);
  EXPECT_LT(peak_of(2 << 20), 3 << 20);
}

TEST_F(Records, AnOpenFileHoldsNoMoreThanItsBytes) {
  write(1, 10);
  Iterator<Record> plain = records(list_, {.parallelism = 1}).iterate();
  ASSERT_TRUE(plain.next());
  EXPECT_LT(plain.memory().in_use_bytes(), 1000U);
  Iterator<Record> ahead = records(list_, {.parallelism = 3}).iterate();
  ASSERT_TRUE(ahead.next());
  EXPECT_LT(ahead.memory().in_use_bytes(), 1000U);
  write_numbers(list_[0], 0, 10, 8, Compression::gzip);
  Iterator<Record> compressed = records(list_, {.parallelism = 1}).iterate();
  ASSERT_TRUE(compressed.next());
  EXPECT_GE(compressed.memory().in_use_bytes(), RecordsOptions().block_bytes);
}

TEST_F(Records, DamageIsTheSameInParallel) {
  write(2, 400, 2000);
  damage(0, 100, 2000);
  damage(1, 399, 2000);
  for (const DamagePolicy policy : {DamagePolicy::fail, DamagePolicy::skip_and_resynchronise}) {
    const Stream expected = stream_of(records(pattern(), {.damage = policy}));
    const auto make = [&] {
      return records(pattern(),
                     {.damage = policy, .parallelism = 3, .read_ahead_bytes = 256 << 10});
    };
    EXPECT_EQ(stream_of(make()), expected);
    run_source_suite(make, expected);
  }
}

TEST_F(Records, ACallbackThatThrowsInParallelIsAnErrorAndTheFileGoesOn) {
  write(1, 300, 2000);
  damage(0, 2, 2000);
  Stream expected = numbers(integers(0, 300));
  expected[2] = "! lost 2";
  run_source_suite(
      [&] {
        return records(pattern(),
                       {.damage = DamagePolicy::skip_and_resynchronise,
                        .on_damage =
                            [](const DamagedRange& range) {
                              throw std::runtime_error("lost " + std::to_string(range.record));
                            },
                        .parallelism = 2,
                        .read_ahead_bytes = 256 << 10});
      },
      expected);
}

TEST_F(Records, RefuseAParallelismBelowOne) {
  EXPECT_EQ(error_of([] { records(std::vector<std::string>{}, {.parallelism = 0}); }).message(),
            "records: parallelism is 0; give 1 or more, or infeed::autotune");
}

TEST_F(Records, KnowWhereTheyComeFrom) {
  write(2, 3);
  Iterator<Record> iterator = records(pattern()).iterate();
  take_stream(iterator, 4);
  const auto record = iterator.next();
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->file(), list_[1]);
  EXPECT_EQ(record->number(), 1);
  EXPECT_EQ(record->offset(), 24 + 12);
}

TEST_F(Records, AnEmptyFileAndAnEmptyList) {
  write(2, 2);
  list_.insert(list_.begin() + 1, folder_.write("empty", ""));
  EXPECT_EQ(stream_of(records(list_)), numbers({0, 1, 2, 3}));
  const auto nothing = records(std::vector<std::string>{});
  run_source_suite([&] { return nothing; }, {});
  EXPECT_EQ(nothing.cardinality(), Cardinality::finite(0));
  EXPECT_EQ(records(list_).cardinality(), Cardinality::unknown());
}

TEST_F(Records, NothingMatchedIsAnErrorAtOnce) {
  write(2, 2);
  const Error error = error_of([&] { records(folder_.file("test-*")); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_THAT(error.what(), HasSubstr("train-00000-of-00002.tfrecord"));
}

TEST_F(Records, DamageIsOneErrorAndTheNextFileFollows) {
  write(3, 100);
  damage(1, 40);
  Stream expected = numbers(integers(0, 140));
  Iterator<Record> iterator = records(pattern()).iterate();
  EXPECT_EQ(take_stream(iterator, 140), expected);
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.file(), list_[1]);
  EXPECT_EQ(error.record(), 40);
  EXPECT_EQ(error.offset(), 40 * 24);
  expected.push_back("! " + error.message());
  for (std::string& text : numbers(integers(200, 100))) expected.push_back(std::move(text));
  run_source_suite([&] { return records(pattern()); }, expected);
}

TEST_F(Records, DamagedLengthsAndCutFiles) {
  write(3, 20);
  flip_bits(list_[0], 5 * 24, 4);
  std::filesystem::resize_file(list_[1], 7 * 24 + 5);
  for (const Verify verify : {Verify::everything, Verify::lengths}) {
    const auto make = [&] { return records(pattern(), {.verify = verify}); };
    const Stream stream = stream_of(make());
    ASSERT_EQ(stream.size(), 5 + 1 + 7 + 1 + 20);
    EXPECT_THAT(stream[5], HasSubstr("record header is damaged"));
    EXPECT_THAT(stream[13], HasSubstr("record is cut inside its header"));
    run_source_suite(make, stream);
  }
}

TEST_F(Records, OnlyTheDamagedOnesAreLostWhenAsked) {
  write(3, 50);
  damage(0, 10);
  damage(0, 30);
  damage(2, 49);
  std::vector<std::int64_t> expected = integers(0, 149);
  std::erase_if(expected, [](std::int64_t x) { return x == 10 || x == 30; });
  std::atomic<int> told = 0;
  const auto make = [&] {
    return records(pattern(), {.damage = DamagePolicy::skip_and_resynchronise,
                               .on_damage = [&told](const DamagedRange& range) {
                                 EXPECT_EQ(range.end - range.begin, 24);
                                 ++told;
                               }});
  };
  EXPECT_EQ(stream_of(make()), numbers(expected));
  EXPECT_EQ(told, 3);
  run_source_suite(make, numbers(expected));
}

TEST_F(Records, ACallbackThatThrowsIsAnErrorAndTheFileGoesOn) {
  write(1, 6);
  damage(0, 2);
  const auto make = [&] {
    return records(pattern(), {.damage = DamagePolicy::skip_and_resynchronise,
                               .on_damage = [](const DamagedRange& range) {
                                 throw std::runtime_error("lost " + std::to_string(range.record));
                               }});
  };
  run_source_suite(make, {"0", "1", "! lost 2", "3", "4", "5"});
}

TEST_F(Records, AFileThatIsGoneIsOneError) {
  write(3, 4);
  const auto dataset = records(pattern());
  const std::vector<std::string> list{list_[0], folder_.file("absent"), folder_.path().string(),
                                      list_[2]};
  const Stream stream = stream_of(records(list));
  ASSERT_EQ(stream.size(), 10);
  EXPECT_THAT(stream[4], HasSubstr("no such file"));
  run_source_suite([&] { return records(list); }, stream);
  std::filesystem::remove(list_[1]);
  const Stream later = stream_of(dataset);
  EXPECT_EQ(later.size(), 9) << "removed after the pattern was looked up";
  Iterator<Record> iterator = dataset.iterate();
  take_stream(iterator, 4);
  EXPECT_EQ(error_of([&] { iterator.next(); }).file(), list_[1]);
}

TEST_F(Records, AResumeDoesNotReadPayloads) {
  write(3, 50);
  Iterator<Record> iterator = (records(pattern()) | repeat(2)).iterate();
  take_stream(iterator, 220);
  const Checkpoint checkpoint = iterator.checkpoint();
  const Dataset<Record> same = records(pattern()) | repeat(2);
  same.iterate().checkpoint();  // a dataset looks at its files' content once
  damage(0, 10);                // would be an error if it were read
  Iterator<Record> resumed = same.iterate({.resume = checkpoint});
  EXPECT_EQ(take_stream(resumed), numbers(integers(70, 80)));
}

TEST_F(Records, AfterErrorsAResumeLooksAtEverything) {
  write(3, 50);
  damage(0, 10);
  Iterator<Record> iterator = records(pattern()).iterate();
  const Stream before = take_stream(iterator, 30);
  EXPECT_THAT(before[10], HasSubstr("! record is damaged"));
  Iterator<Record> resumed = records(pattern()).iterate({.resume = iterator.checkpoint()});
  EXPECT_EQ(take_stream(resumed), numbers(integers(69, 81)));
}

TEST_F(Records, ACheckpointIsBoundToTheFilesAndOptions) {
  write(2, 5);
  Iterator<Record> iterator = records(pattern()).iterate();
  iterator.next();
  const Checkpoint checkpoint = iterator.checkpoint();
  EXPECT_LT(checkpoint.to_text().size(), 1000);
  const auto refused = [&](const Dataset<Record>& dataset) {
    return error_of([&] { dataset.iterate({.resume = checkpoint}); }).message();
  };
  EXPECT_THAT(refused(records(pattern(), {.damage = DamagePolicy::skip_and_resynchronise})),
              HasSubstr("damage=skip_and_resynchronise"));
  write_numbers(list_[1], 5, 6);
  EXPECT_THAT(refused(records(pattern())), HasSubstr("records(2 files, 240 bytes"));
}

}  // namespace
}  // namespace infeed::test
