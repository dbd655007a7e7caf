#include <filesystem>
#include <fmt/format.h>
#include <fstream>

#include <infeed/records/files.h>
#include <infeed/records/parallel_record_reader.h>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/convert/inputs/example_text.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"

/// Compressed shards by the real program: several threads can read each, and every command takes
/// them.
namespace infeed::test {
namespace {

struct Case {
  const char* name;
  const char* extension;
  const char* split_by;  ///< ParallelRecordReader::how()
};

class CompressedShards : public ::testing::TestWithParam<Case> {
 protected:
  /// 3 MB a shard, so that each has several flush points or blocks.
  void SetUp() override {
    std::ofstream table(folder_.file("t.csv"));
    table << "id,text\n";
    for (int i = 0; i < 60'000; ++i) table << i << ',' << std::string(60 + i % 40, 'a') << '\n';
    table.close();
    ASSERT_EQ(convert("data", {"--compression", GetParam().name}).status, 0);
  }
  ProgramResult convert(const std::string& output, const std::vector<std::string>& more) const {
    std::vector<std::string> words{
        "convert", folder_.file("t.csv"), "-o", folder_.file(output), "--shards", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run_infeed(words);
  }
  std::string shard(int index) const {
    return fmt::format("{}/data-0000{}-of-00002.{}", folder_.file("data"), index,
                       GetParam().extension);
  }
  std::string pattern() const { return folder_.file("data/*.") + GetParam().extension; }

  TemporaryFolder folder_;
};

TEST_P(CompressedShards, HoldTheSameRecordsAndAreSplitAmongThreads) {
  ASSERT_EQ(convert("plain", {}).status, 0);
  EXPECT_EQ(example_texts(match_files(pattern())),
            example_texts(match_files(folder_.file("plain/*.tfrecord"))));
  ParallelRecordReader reader(shard(0), {.threads = 2});
  Record record;
  std::size_t count = 0;
  while (reader.next(record)) ++count;
  EXPECT_EQ(count, 30'000);
  EXPECT_THAT(reader.how(), HasSubstr(GetParam().split_by));
}

TEST_P(CompressedShards, ComeBackPlainByReshard) {
  ASSERT_EQ(convert("plain", {}).status, 0);
  ASSERT_EQ(run_infeed({"reshard", pattern(), "-o", folder_.file("back"), "--shards", "2"}).status,
            0);
  for (const int i : {0, 1}) {
    const std::string name = fmt::format("data-0000{}-of-00002.tfrecord", i);
    EXPECT_EQ(read_whole(folder_.file("back/" + name)), read_whole(folder_.file("plain/" + name)));
  }
}

TEST_P(CompressedShards, AreVerifiedWithWhatLiesBesideThem) {
  EXPECT_THAT(run_infeed({"verify", folder_.file("data")}).out, HasSubstr("good: 2 files, 60,000"));
  EXPECT_THAT(run_infeed({"verify", pattern()}).out, HasSubstr("good: 2 files, 60,000"));
  EXPECT_THAT(run_infeed({"inspect", pattern()}).out, HasSubstr(GetParam().name));
  // Named once each, whichever is looked at last.
  ASSERT_EQ(convert("plain", {}).status, 0);
  const std::string plain = folder_.file("plain/data-00000-of-00002.tfrecord");
  const std::string both = fmt::format(", plain and {}; all 90,000 records", GetParam().name);
  for (const std::vector<std::string>& files :
       {std::vector{plain, shard(0), shard(1)}, {shard(0), shard(1), plain}}) {
    std::vector<std::string> words{"inspect"};
    words.insert(words.end(), files.begin(), files.end());
    EXPECT_THAT(run_infeed(words).out, HasSubstr(both));
  }
  EXPECT_EQ(convert("data", {"--compression", GetParam().name}).status, 0) << "complete already";
  const std::string points = shard(1) + ".points";
  if (fs::exists(points)) {
    fs::remove(points);
    const ProgramResult result = run_infeed({"verify", folder_.file("data")});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.out, AllOf(HasSubstr(points + ": it is missing"), HasSubstr("one thread")));
  }
  fs::resize_file(shard(0), fs::file_size(shard(0)) - 1);
  const ProgramResult result = run_infeed({"verify", folder_.file("data")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr(shard(0)), HasSubstr("of 30000 records are whole")));
}

TEST_P(CompressedShards, AreRepairedInTheirOwnFormat) {
  const std::string whole = read_whole(shard(0));
  std::string damaged = whole;
  for (std::size_t i = 0; i < 16; ++i) damaged[damaged.size() / 2 + i] ^= '\x55';
  write_whole(shard(0), damaged);
  const std::string saved = folder_.file("saved");
  const ProgramResult result = run_infeed({"repair", shard(0), "-o", saved});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("lost: "));
  ParallelRecordReader reader(saved, {.threads = 2});
  Record record;
  std::size_t count = 0;
  while (reader.next(record)) ++count;
  EXPECT_GT(count, 8'000);
  EXPECT_LT(count, 30'000);
  EXPECT_THAT(reader.how(), HasSubstr(GetParam().split_by));
}

INSTANTIATE_TEST_SUITE_P(Convert, CompressedShards,
                         ::testing::Values(Case{"gzip", "tfrecord.gz", "flush points"},
                                           Case{"lz4", "tfrecord.lz4", "block"}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace infeed::test
