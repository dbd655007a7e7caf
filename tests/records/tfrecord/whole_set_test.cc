#include <infeed/records/files.h>
#include <infeed/records/shard_manifest.h>
#include <infeed/records/whole_set.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed {
namespace {

constexpr std::size_t kShardBytes = 100;

class WholeSet : public ::testing::Test {
 protected:
  std::string write_shard(const std::string& set, Shard shard,
                          const std::string& extension = "tfrecord") {
    return folder_.write(shard_name(set, shard, extension), std::string(kShardBytes, 'x'));
  }
  void write_shards(const std::string& set, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) write_shard(set, {count, i});
  }
  void write_manifest(const std::string& set, std::uint32_t count) {
    std::string shards;
    for (std::uint32_t i = 0; i < count; ++i) {
      const ManifestShard shard{shard_name(set, {count, i}), {kShardBytes, 0}, 10, std::nullopt};
      shards += (i == 0 ? "" : ",") + to_json(shard);
    }
    folder_.write(set + ".manifest.json", seal_manifest("{\"shards\":[" + shards + "]}"));
  }
  std::string pattern(const std::string& name = "*tfrecord*") const { return folder_.file(name); }
  /// The first finding of the files of a pattern, with the manifest's knowledge.
  static Error first_problem(const std::string& files) {
    return error_of([&] { throw_set_problems(find_set_problems(match_files(files))); });
  }
  void remove(const std::string& name) { std::filesystem::remove(folder_.file(name)); }

  const TemporaryFolder folder_;
};

TEST_F(WholeSet, SoundOnesAreListed) {
  write_shards("train", 4);
  write_manifest("train", 4);
  write_shards("test", 2);
  folder_.write("other.tfrecord", "");
  EXPECT_EQ(match_whole_sets(pattern()).size(), 7U);
  EXPECT_EQ(match_whole_sets(pattern("train-*")).size(), 4U);
}

TEST_F(WholeSet, AMissingShardIsNamedByTheManifestAndByTheNumbers) {
  write_shards("t", 4);
  write_manifest("t", 4);
  remove("t-00002-of-00004.tfrecord");
  for (const Error& error :
       {first_problem(pattern()), error_of([&] { match_whole_sets(pattern()); })}) {
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_EQ(error.file(), folder_.file("t-00002-of-00004.tfrecord"));
    EXPECT_THAT(error.message(), HasSubstr("list the files one by one"));
  }
  EXPECT_THAT(first_problem(pattern()).message(), HasSubstr("lists it with 10 records"));
  EXPECT_THAT(error_of([&] { match_whole_sets(pattern()); }).message(),
              HasSubstr("1 of the set's 4 shards is missing: number 2"));
}

/// A stray file beside a whole set was read as one more file without a word.
TEST_F(WholeSet, AFileWhoseNumberIsTooHighIsOfAnotherSet) {
  write_shards("t", 4);
  const std::string stray = folder_.write("t-00004-of-00004.tfrecord", "x");
  for (const bool has_manifest : {false, true}) {
    if (has_manifest) write_manifest("t", 4);
    const Error error = first_problem(pattern("t-*.tfrecord"));
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(error.file(), stray);
    EXPECT_THAT(error.message(), HasSubstr("its records may be there twice; move it away"));
  }
}

TEST_F(WholeSet, OneThatCountsFromOneIsWhole) {
  for (const char* number : {"00001", "00002", "00003"}) {
    folder_.write(std::string("t-") + number + "-of-00003.tfrecord", "x");
  }
  EXPECT_EQ(match_whole_sets(pattern()).size(), 3U);
  remove("t-00002-of-00003.tfrecord");
  EXPECT_THAT(first_problem(pattern()).message(), HasSubstr("number 2 (they count from 1)"));
}

TEST_F(WholeSet, TheMissingOneIsNamedWithAsManyDigitsAsTheOthers) {
  for (const char* number : {"000000", "000001", "000002"}) {
    folder_.write(std::string("t-") + number + "-of-000003.tfrecord", "x");
  }
  EXPECT_THAT(first_problem(folder_.file("t-00000[02]-of-000003.tfrecord")).message(),
              HasSubstr("1 of the set's 3 shards is left out by the pattern: number 1"));
  remove("t-000001-of-000003.tfrecord");
  const Error error = first_problem(pattern());
  EXPECT_EQ(error.file(), folder_.file("t-000001-of-000003.tfrecord"));
  EXPECT_THAT(error.message(), HasSubstr("1 of the set's 3 shards is missing: number 1"));
}

TEST_F(WholeSet, OneOfTwoNumberingsIsNamedWithAsManyDigitsAsItsFilesHave) {
  folder_.write("t-000000-of-000001.tfrecord", "x");
  write_shard("t", {2, 1});
  const Error error = error_of([&] { match_whole_sets(pattern()); });
  EXPECT_THAT(error.message(), HasSubstr("name one of them, '" + pattern("t-*-of-000001*") + "'"));
  EXPECT_EQ(match_whole_sets(pattern("t-*-of-000001*")).size(), 1U);
}

TEST_F(WholeSet, SeveralMissingOnesAreRanges) {
  write_shards("t", 12);
  for (const char* number : {"00000", "00003", "00004", "00005", "00011"}) {
    remove(std::string("t-") + number + "-of-00012.tfrecord");
  }
  EXPECT_THAT(error_of([&] { match_whole_sets(pattern()); }).message(),
              HasSubstr("5 of the set's 12 shards are missing: number 0, 3 to 5, 11 ("));
}

TEST_F(WholeSet, NamesSoManyRangesAtMost) {
  write_shards("t", 20);
  for (std::uint32_t i = 1; i < 16; i += 2) remove(shard_name("t", {20, i}));
  EXPECT_THAT(error_of([&] { match_whole_sets(pattern()); }).message(),
              HasSubstr("8 of the set's 20 shards are missing: number 1, 3, 5, 7, 9, 11, 13, 15 "
                        "(they count from 0)"));
  remove(shard_name("t", {20, 17}));
  EXPECT_THAT(
      error_of([&] { match_whole_sets(pattern()); }).message(),
      HasSubstr("9 of the set's 20 shards are missing: number 1, 3, 5, 7, 9, 11, 13, 15, ... "
                "(they count from 0)"));
}

TEST_F(WholeSet, ANameMayClaimBillionsOfShards) {
  write_shard("t", {4'294'967'295, 7}, "tfrecord");
  EXPECT_THAT(
      error_of([&] { match_whole_sets(pattern()); }).message(),
      HasSubstr("4294967294 of the set's 4294967295 shards are missing: number 0 to 6, 8 to "
                "4294967294 ("));
}

TEST_F(WholeSet, ACutShardIsSeenByItsSize) {
  write_shards("t", 4);
  write_manifest("t", 4);
  std::filesystem::resize_file(folder_.file("t-00001-of-00004.tfrecord"), 60);
  EXPECT_EQ(match_whole_sets(pattern()).size(), 4U) << "whoever reads it sees the cut";
  const Error error = first_problem(pattern());
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.file(), folder_.file("t-00001-of-00004.tfrecord"));
  EXPECT_THAT(
      error.message(),
      HasSubstr("the file has 60 bytes instead of 100, by its set's manifest (10 records)"));
}

TEST_F(WholeSet, TwoNumberingsAreRefused) {
  write_shards("t", 4);
  write_shards("t", 8);
  const Error error = error_of([&] { match_whole_sets(pattern()); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(),
            "the set has two numberings, of 4 and of 8 shards ('" +
                folder_.file("t-00000-of-00004.tfrecord") +
                "'): its records may be there twice; name one of them, '" + folder_.file("t") +
                "-*-of-00004*'. To read what is there on purpose, list the files one by one "
                "(match_files() gives such a list, a shell makes one of a pattern without quotes)");
  write_manifest("t", 8);
  const Error foreign = first_problem(pattern());
  EXPECT_EQ(foreign.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(foreign.file(), folder_.file("t-00000-of-00004.tfrecord"));
  EXPECT_THAT(foreign.message(), HasSubstr("(and 3 more like it)"));
  EXPECT_EQ(match_whole_sets(pattern("t-*-of-00008*")).size(), 8U);
}

TEST_F(WholeSet, AShardThatIsThereTwiceIsRefused) {
  write_shards("t", 2);
  write_shard("t", {2, 1}, "tfrecord.gz");
  const Error error = error_of([&] { match_whole_sets(pattern()); });
  EXPECT_EQ(error.file(), folder_.file("t-00001-of-00002.tfrecord.gz"));
  EXPECT_THAT(error.message(),
              HasSubstr("shard 1 of 2 is there twice, here and as '" +
                        folder_.file("t-00001-of-00002.tfrecord") + "'; move one of them away"));
  EXPECT_EQ(find_set_problems(match_files(pattern())).size(), 1U);
}

TEST_F(WholeSet, APartOfASetIsAChoiceOfItsList) {
  write_shards("t", 4);
  write_manifest("t", 4);
  EXPECT_THAT(first_problem(pattern("t-0000[01]*")).message(),
              HasSubstr("the pattern leaves this shard out"));
  EXPECT_THAT(error_of([&] { match_whole_sets(pattern("t-0000[01]*")); }).message(),
              HasSubstr("2 of the set's 4 shards are left out by the pattern: number 2 to 3"));
  const std::string list = folder_.file("t-{00000..00001}-of-00004.tfrecord");
  EXPECT_EQ(match_whole_sets(list).size(), 2U);
  EXPECT_EQ(match_whole_sets(folder_.file("t-00003-of-00004.tfrecord")).size(), 1U);
  EXPECT_EQ(match_files(pattern("t-0000[01]*")).size(), 2U);
}

TEST_F(WholeSet, WhatLiesBesideAShardIsNone) {
  write_shards("t", 2);
  write_manifest("t", 2);
  for (const std::string side : {".index", ".points", ".idx"}) {
    folder_.write("t-00000-of-00002.tfrecord" + side, "x");
  }
  EXPECT_TRUE(find_set_problems(match_files(pattern())).empty());
}

TEST_F(WholeSet, ADamagedManifestIsAnError) {
  write_shards("t", 2);
  folder_.write("t.manifest.json", "{\"format\": \"infeed-manifest 1\"}");
  EXPECT_EQ(first_problem(pattern()).code(), ErrorCode::data_loss);
  EXPECT_EQ(first_problem(pattern()).file(), folder_.file("t.manifest.json"));
  EXPECT_EQ(match_whole_sets(pattern()).size(), 2U);
  remove("t-00001-of-00002.tfrecord");
  EXPECT_EQ(find_set_problems(match_files(pattern())).size(), 2U) << "the numbers still speak";
}

TEST(WholeSetOfUrls, GoesByTheNumbers) {
  const std::vector<std::string> files = {"s3://b/t-00000-of-00003.tfrecord",
                                          "s3://b/t-00002-of-00003.tfrecord"};
  const std::vector<SetProblem> problems = find_set_problems(files);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].file, "s3://b/t-00001-of-00003.tfrecord");
  EXPECT_EQ(problems[0].text, "1 of the set's 3 shards is missing: number 1 (they count from 0)");
}

}  // namespace
}  // namespace infeed
