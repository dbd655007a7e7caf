#include <limits>

#include <infeed/infeed.h>
#include <infeed/records/files.h>
#include <infeed/records/record_writer.h>
#include <infeed/records/shard_manifest.h>

#include "pipeline/sources/value_of_record.h"
#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// Makes three shards of 20 records, and their manifest.
class ListedRecords : public ::testing::Test {
 protected:
  static constexpr std::size_t kRecordBytes = 24;

  explicit ListedRecords(Compression compression = Compression::none) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      list_.push_back(shard_name(folder_.file("train"), {3, i}));
      RecordWriter writer(list_.back(), {.compression = compression, .file_sum = true});
      for (int row = 0; row < 20; ++row) {
        const std::string number = std::to_string(20 * i + row);
        writer.write(std::string(8 - number.size(), '0') + number);
      }
      writer.close();
      shards_.push_back({std::filesystem::path(list_.back()).filename().string(), writer.file_sum(),
                         20, std::nullopt});
    }
    write_manifest();
  }
  void write_manifest() {
    std::string shards;
    for (const ManifestShard& shard : shards_) {
      shards += (shards.empty() ? "" : ",") + to_json(shard);
    }
    folder_.write("train.manifest.json", seal_manifest("{\"shards\":[" + shards + "]}"));
  }
  void cut(std::size_t file, std::size_t records) {
    std::filesystem::resize_file(list_[file], records * kRecordBytes);
  }
  void add_two(std::size_t file) {
    RecordWriter writer(folder_.file("more"), {.existing = ExistingFile::replace});
    writer.write("901");
    writer.write("902");
    writer.close();
    std::ofstream(list_[file], std::ios::binary | std::ios::app)
        << read_whole(folder_.file("more"));
  }
  std::string pattern() const { return folder_.file("train-*.tfrecord"); }
  std::string manifest() const { return folder_.file("train.manifest.json"); }
  static std::vector<std::int64_t> integers(std::int64_t count) {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(i);
    return values;
  }

  TemporaryFolder folder_;
  std::vector<std::string> list_;
  std::vector<ManifestShard> shards_;
};

class CompressedListedRecords : public ListedRecords {
 protected:
  CompressedListedRecords() : ListedRecords(Compression::gzip) {}
};

TEST_F(ListedRecords, KnowTheirNumber) {
  EXPECT_EQ(records(pattern()).cardinality(), Cardinality::finite(60));
  EXPECT_EQ((records(pattern()) | batch(8) | repeat(2)).cardinality(), Cardinality::finite(16));
  EXPECT_EQ(records({list_[2], list_[0]}).cardinality(), Cardinality::finite(40));
  run_source_suite([&] { return records(pattern()); }, numbers(integers(60)));
  EXPECT_EQ(records(pattern(), {.manifest = ManifestUse::ignore}).cardinality(),
            Cardinality::unknown());
  std::filesystem::remove(manifest());
  EXPECT_EQ(records(pattern()).cardinality(), Cardinality::unknown());
}

/// The sum began again at 0.
TEST_F(ListedRecords, BeyondAllThatCanBeCountedAreInfinite) {
  shards_[0].examples = std::numeric_limits<std::uint64_t>::max() - 40;
  write_manifest();
  EXPECT_EQ(records(pattern()).cardinality(),
            Cardinality::finite(std::numeric_limits<std::uint64_t>::max()));
  ++shards_[0].examples;
  write_manifest();
  EXPECT_EQ(records(pattern()).cardinality(), Cardinality::infinite());
}

TEST_F(ListedRecords, OneThatIsNotListedMakesTheNumberUnknown) {
  list_.push_back(shard_name(folder_.file("other"), {1, 0}));
  std::filesystem::copy_file(list_[0], list_[3]);
  EXPECT_EQ(records(list_).cardinality(), Cardinality::unknown());
  cut(1, 19);
  EXPECT_THAT(stream_of(records(list_))[39], HasSubstr("! the file ends behind 19 records"))
      << "the others are checked nevertheless";
}

TEST_F(ListedRecords, PoliciesThatMayLoseRecordsDoNotKnowIt) {
  for (const auto policy :
       {DamagePolicy::skip_and_resynchronise, DamagePolicy::stop_like_tensorflow}) {
    EXPECT_EQ(records(pattern(), {.damage = policy}).cardinality(), Cardinality::unknown());
  }
}

TEST_F(ListedRecords, AFileThatWasCutBetweenTwoRecords) {
  cut(1, 17);
  Stream expected = numbers(integers(37));
  expected.push_back(
      "! the file ends behind 17 records (408 bytes), but its manifest '" + manifest() +
      "' says 20 records (480 bytes): it was cut between two records, or replaced, since that was "
      "written; take it from a copy or convert it again, or, if it is as it should be, read it "
      "with {.manifest = ManifestUse::ignore}");
  for (int i = 40; i < 60; ++i) expected.push_back(std::to_string(i));
  for (const int parallelism : {1, 3}) {
    run_source_suite([&] { return records(pattern(), {.parallelism = parallelism}); }, expected);
  }
  Iterator<Record> iterator = records(pattern()).iterate();
  take_stream(iterator, 37);
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.file(), list_[1]);
  EXPECT_EQ(error.lost(), (Lost{.records = 2}));
  EXPECT_EQ(iterator.statistics().stages.back().count("dropped_records"), 2);
  EXPECT_EQ(stream_of(records(pattern(), {.manifest = ManifestUse::ignore})).size(), 57);
  EXPECT_EQ(elements_of(stream_of(records(pattern()) | skip_errors({.count_max = 3}))), 57);
}

TEST_F(ListedRecords, AFileThatIsEmpty) {
  cut(0, 0);
  const Stream stream = stream_of(records(pattern()));
  ASSERT_EQ(stream.size(), 41);
  EXPECT_THAT(stream[0], HasSubstr("! the file ends behind 0 records (0 bytes), but"));
}

TEST_F(ListedRecords, AFileThatHasMore) {
  add_two(2);
  Stream expected = numbers(integers(60));
  expected.insert(expected.end(), {"901", "902"});
  expected.push_back(
      "! the file ends behind 22 records (518 bytes), but its manifest '" + manifest() +
      "' says 20 records (480 bytes): it was replaced since that was written; take it from a copy "
      "or convert it again, or, if it is as it should be, read it with {.manifest = "
      "ManifestUse::ignore}");
  run_source_suite([&] { return records(pattern()); }, expected);
}

TEST_F(ListedRecords, AResumeBehindTheErrorIsExactInLaterPasses) {
  cut(1, 17);
  const auto make = [&] { return records(pattern()) | repeat(3); };
  const Stream whole = stream_of(make());
  ASSERT_EQ(whole.size(), 3 * 58);
  for (const std::size_t at : {36, 37, 38, 57, 58, 58 + 37, 58 + 38, 116 + 38}) {
    Iterator<Record> iterator = make().iterate();
    take_stream(iterator, at);
    Iterator<Record> resumed = make().iterate({.resume = iterator.checkpoint()});
    EXPECT_EQ(take_stream(resumed),
              Stream(whole.begin() + static_cast<std::ptrdiff_t>(at), whole.end()));
  }
}

TEST_F(ListedRecords, PoliciesThatMayLoseRecordsCountWhatIsMissing) {
  cut(1, 17);
  for (const auto policy :
       {DamagePolicy::skip_and_resynchronise, DamagePolicy::stop_like_tensorflow}) {
    Iterator<Record> iterator = records(pattern(), {.damage = policy}).iterate();
    EXPECT_EQ(take_stream(iterator).size(), 57);
    EXPECT_EQ(iterator.statistics().stages.back().errors, 0);
    EXPECT_EQ(iterator.statistics().stages.back().count("dropped_records"), 3);
  }
}

TEST_F(ListedRecords, DamageIsOneErrorAsEver) {
  flip_bits(list_[1], 5 * kRecordBytes + 12);
  const Stream stream = stream_of(records(pattern()));
  EXPECT_EQ(stream.size(), 46) << "the rest of a damaged file is not missed a second time";
  Iterator<Record> iterator =
      records(pattern(), {.damage = DamagePolicy::skip_and_resynchronise}).iterate();
  EXPECT_EQ(take_stream(iterator).size(), 59);
  EXPECT_EQ(iterator.statistics().stages.back().count("dropped_records"), 1);
}

TEST_F(ListedRecords, AreCheckedWhereTheyAreInterleaved) {
  cut(1, 17);
  const auto make = [&] {
    return files(pattern()) |
           interleave([](const std::string& file) { return records(file); }, {.cycle_length = 2});
  };
  const Stream stream = stream_of(make());
  EXPECT_EQ(stream.size(), 58);
  EXPECT_EQ(stream_of(make() | skip_errors()).size(), 57);
  EXPECT_EQ(records(list_[0]).cardinality(), Cardinality::unknown());
  run_source_suite(make, stream);
}

TEST_F(ListedRecords, ADamagedManifestIsAnErrorAtOnce) {
  std::string text = read_whole(manifest());
  text[text.find("20")] = '3';
  folder_.write("train.manifest.json", text);
  const Error error = error_of([&] { records(pattern()); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.file(), manifest());
  EXPECT_EQ(error.message(),
            "the manifest is damaged: its checksum does not match what it says; take it from a "
            "copy, or make the dataset anew; {.manifest = ManifestUse::ignore} reads the records "
            "without it");
  EXPECT_EQ(stream_of(records(pattern(), {.manifest = ManifestUse::ignore})).size(), 60);
  EXPECT_THAT(stream_of(records(list_[0])).front(), HasSubstr("! the manifest is damaged"));
}

TEST_F(ListedRecords, CheckpointsDoNotDependOnIt) {
  Iterator<Record> iterator = records(pattern()).iterate();
  take_stream(iterator, 33);
  const Checkpoint checkpoint = iterator.checkpoint();
  std::filesystem::remove(manifest());
  Iterator<Record> resumed = records(pattern()).iterate({.resume = checkpoint});
  EXPECT_EQ(take_stream(resumed).size(), 27);
}

TEST_F(CompressedListedRecords, AreCountedToo) {
  EXPECT_EQ(records(pattern()).cardinality(), Cardinality::finite(60));
  EXPECT_EQ(stream_of(records(pattern())), numbers(integers(60)));
  shards_[0].examples = 21;
  write_manifest();
  const Stream stream = stream_of(records(pattern()));
  ASSERT_EQ(stream.size(), 61);
  EXPECT_THAT(stream[20], HasSubstr("! the file ends behind 20 records ("));
}

}  // namespace
}  // namespace infeed::test
