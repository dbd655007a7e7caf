#include <fmt/format.h>
#include <numeric>
#include <set>

#include <infeed/infeed.h>
#include <infeed/records/files.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_writer.h>

#include "pipeline/sources/value_of_record.h"
#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// Makes indexed shards of `per_file` records of `bytes` bytes; each record holds its row.
class IndexedRows : public ::testing::Test {
 protected:
  void write(std::uint32_t files, std::int64_t per_file, std::size_t bytes = 8) {
    bytes_ = bytes;
    for (std::uint32_t i = 0; i < files; ++i) {
      list_.push_back(shard_name(folder_.file("train"), {files, i}));
      RecordWriter writer(list_.back(), {.index = true});
      for (std::int64_t row = i * per_file; row < (i + 1) * per_file; ++row) {
        std::string text = std::to_string(row);
        writer.write(text.insert(0, bytes - std::min(bytes, text.size()), '0'));
      }
      writer.close();
      write_index(writer.index(), list_.back() + ".index");
    }
  }
  /// Flips a bit of a record's header or of its payload.
  void damage(std::size_t file, std::size_t record, bool header = false) {
    flip_bits(list_[file], record * (bytes_ + 16) + (header ? 0 : 12));
  }
  std::string pattern() const { return folder_.file("train-*.tfrecord"); }
  static std::vector<std::int64_t> rows(std::int64_t count, std::int64_t first = 0) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), first);
    return values;
  }

  TemporaryFolder folder_;
  std::vector<std::string> list_;
  std::size_t bytes_ = 8;
};

TEST_F(IndexedRows, PassTheSuite) {
  write(4, 90);
  run_source_suite([&] { return indexed_records(pattern()); }, numbers(rows(360)));
  EXPECT_EQ(indexed_records(pattern()).cardinality(), Cardinality::finite(360));
}

TEST_F(IndexedRows, PassTheSuiteShuffledAsAWhole) {
  write(3, 50);
  const auto make = [&] {
    return indexed_records(pattern(), {.open_files_max = 1}) | global_shuffle({.seed = 3}) |
           repeat(2);
  };
  const Stream stream = stream_of(make());
  EXPECT_EQ(std::multiset<std::string>(stream.begin(), stream.end()).count("149"), 2);
  run_source_suite(make, stream);
}

TEST_F(IndexedRows, LargeOnes) {
  write(2, 40, 60'000);
  run_source_suite([&] { return indexed_records(pattern()) | global_shuffle({.seed = 1}); },
                   stream_of(indexed_records(pattern()) | global_shuffle({.seed = 1})));
  EXPECT_EQ(stream_of(indexed_records(pattern())), numbers(rows(80)));
}

TEST_F(IndexedRows, ResumeAtEveryStep) {
  write(3, 7);
  const auto make = [&] { return indexed_records(pattern()) | global_shuffle({.seed = 9}); };
  const Stream whole = stream_of(make());
  for (std::size_t at = 0; at <= whole.size(); ++at) {
    Iterator<Record> iterator = make().iterate();
    take_stream(iterator, at);
    Iterator<Record> resumed = make().iterate({.resume = iterator.checkpoint()});
    EXPECT_EQ(take_stream(resumed),
              Stream(whole.begin() + static_cast<std::ptrdiff_t>(at), whole.end()));
  }
}

TEST_F(IndexedRows, GiveWhatRecordsGive) {
  write(3, 200, 100);
  EXPECT_EQ(stream_of(indexed_records(pattern())), stream_of(records(pattern())));
  Iterator<Record> iterator = (indexed_records(pattern()) | skip(250)).iterate();
  const auto record = iterator.next();
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->file(), list_[1]);
  EXPECT_EQ(record->number(), 50);
  EXPECT_EQ(record->offset(), 50 * 116 + 12);
}

TEST_F(IndexedRows, AreCountedByTheStagesBehindThem) {
  write(2, 50);
  const auto source = indexed_records(pattern());
  EXPECT_EQ((source | batch(8)).cardinality(), Cardinality::finite(13));
  EXPECT_EQ((source | skip(90) | repeat(3)).cardinality(), Cardinality::finite(30));
  EXPECT_EQ(stream_of(source | skip(97) | take(2)), numbers({97, 98}));
  EXPECT_EQ(stream_of(source | shard({.count = 40, .index = 7})), numbers({7, 47, 87}));
}

TEST_F(IndexedRows, AreResharded) {
  write(2, 60);
  const auto share = [&](std::uint64_t count, std::uint64_t index) {
    return indexed_records(pattern()) | global_shuffle({.seed = 4}) |
           map([](const Record& record) { return value_of(record); }) |
           shard({.count = count, .index = index}) | batch(5);
  };
  std::multiset<std::int64_t> taken;
  const auto take_batches = [&](auto& iterator, int most) {
    for (int i = 0; i < most; ++i) {
      const auto batch = iterator.next();
      if (!batch) return;
      taken.insert(batch->values().begin(), batch->values().end());
    }
  };
  Checkpoint checkpoint;
  for (const std::uint64_t host : {0, 1}) {
    auto iterator = share(2, host).iterate();
    take_batches(iterator, 4);
    if (host == 0) checkpoint = iterator.checkpoint();
  }
  for (const std::uint64_t host : {0, 1, 2, 3}) {
    const auto dataset = share(4, host);
    auto iterator = dataset.iterate({.resume = reshard_checkpoint(checkpoint, dataset)});
    take_batches(iterator, 1000);
  }
  EXPECT_EQ(taken.size(), 120);
  EXPECT_EQ(std::set<std::int64_t>(taken.begin(), taken.end()).size(), 120);
}

TEST_F(IndexedRows, ChosenOnesPassTheSuite) {
  write(3, 100);
  const RecordSet all(pattern());
  std::vector<std::uint64_t> chosen;
  for (std::uint64_t i = 0; i < 400; ++i) chosen.push_back(i * 7919 % 300);
  const RecordSet some = all.select(chosen);
  run_source_suite([&] { return indexed_records(some); },
                   numbers(std::vector<std::int64_t>(chosen.begin(), chosen.end())));
  EXPECT_EQ(stream_of(indexed_records(all.select({}))), Stream());
}

TEST_F(IndexedRows, ACheckpointIsBoundToFilesAndChoice) {
  write(2, 10);
  const RecordSet all(pattern());
  Iterator<Record> iterator = indexed_records(all.select({1, 2, 3})).iterate();
  iterator.next();
  const auto resume = [&](const Dataset<Record>& dataset) {
    return error_of([&] { dataset.iterate({.resume = iterator.checkpoint()}); });
  };
  const Error error = resume(indexed_records(all.select({1, 2, 4})));
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("indexed_records(2 files, 480 bytes, names="));
  EXPECT_THAT(error.message(), HasSubstr("records=3, selected crc32c="));
  EXPECT_EQ(resume(indexed_records(all)).code(), ErrorCode::failed_precondition);
}

TEST_F(IndexedRows, DamageIsAnErrorInItsPlaceAndNoOtherRowIsAffected) {
  write(3, 100);
  damage(0, 5);
  damage(1, 40, true);  // records() finds nothing behind a damaged header
  std::filesystem::resize_file(list_[2], 97 * 24 + 3);
  Stream expected = numbers(rows(300));
  expected[5] = "! record is damaged: its 8 bytes do not have the checksum that is stored";
  expected[140] =
      "! there is no record of 8 bytes at this place: the record is damaged, or the index is "
      "another file's (infeed verify tells which)";
  for (const int row : {297, 298, 299}) {
    expected[row] = fmt::format(
        "! record is cut: its index has it end at byte {}, but the file ends at byte 2331; take "
        "the file from a copy, or make the index anew (infeed index)",
        (row - 199) * 24);
  }
  run_source_suite([&] { return indexed_records(pattern()); }, expected);

  const auto shuffled = [&] { return indexed_records(pattern()) | global_shuffle({.seed = 2}); };
  const Stream stream = stream_of(shuffled());
  EXPECT_EQ(std::multiset<std::string>(stream.begin(), stream.end()),
            std::multiset<std::string>(expected.begin(), expected.end()));
  run_source_suite(shuffled, stream);
  EXPECT_EQ(stream_of(shuffled() | skip_errors()).size(), 295);
}

TEST_F(IndexedRows, AFileThatIsGoneIsAnErrorForEachOfItsRows) {
  write(3, 20);
  std::filesystem::remove(list_[1]);
  const Stream stream = stream_of(indexed_records(list_));
  ASSERT_EQ(stream.size(), 60);
  for (std::size_t row = 20; row < 40; ++row) EXPECT_THAT(stream[row], HasSubstr("no such file"));
  EXPECT_EQ(stream[40], "40");
  run_source_suite([&] { return indexed_records(list_); }, stream);
}

TEST_F(IndexedRows, AreReadInParallelBehindTheShuffle) {
  write(2, 500);
  const auto values =
      indexed_records(pattern()) | global_shuffle({.seed = 8}) |
      map([](const Record& record) { return value_of(record); }, {.parallelism = 3}) | prefetch();
  const Stream stream = stream_of(values);
  EXPECT_EQ(std::set<std::string>(stream.begin(), stream.end()).size(), 1000);
}

TEST_F(IndexedRows, SayWhatIsWrongWhenTheyAreDescribed) {
  write(2, 5);
  std::filesystem::remove(list_[1] + ".index");
  EXPECT_THAT(error_of([&] { indexed_records(list_); }).message(),
              HasSubstr("write indices with infeed index, or give {.without_index = "
                        "WithoutIndex::scan}"));
  EXPECT_EQ(stream_of(indexed_records(list_, {.without_index = WithoutIndex::scan})),
            numbers(rows(10)));
  EXPECT_EQ(error_of([&] { indexed_records(folder_.file("none-*")); }).code(),
            ErrorCode::not_found);
  EXPECT_THAT(error_of([&] { indexed_records({list_[0]}, {.open_files_max = -1}); }).message(),
              HasSubstr("indexed_records: open_files_max is -1"));
  EXPECT_EQ(indexed_records({list_[0]}, {.name = "train"}).node()->given_name(), "train");
}

}  // namespace
}  // namespace infeed::test
