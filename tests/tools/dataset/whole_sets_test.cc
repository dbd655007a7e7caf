#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/run_program.h"

/// Every command that reads a set notices a shard that is gone, cut, or of another numbering.
namespace infeed::test {
namespace {

class WholeSets : public ::testing::Test {
 protected:
  /// 40 records in 4 shards, and the same in 8.
  void SetUp() override {
    std::ofstream table(folder_.file("t.csv"));
    table << "x\n";
    for (int i = 1; i <= 40; ++i) table << i << '\n';
    table.close();
    for (const char* shards : {"4", "8"}) {
      const std::string set = folder_.file(std::string("of_") + shards);
      ASSERT_EQ(
          run_infeed({"convert", folder_.file("t.csv"), "-o", set, "--shards", shards}).status, 0);
    }
  }
  std::string copy_of(const std::string& set, const std::string& name) {
    fs::copy(folder_.file(set), folder_.file(name), fs::copy_options::recursive);
    return folder_.file(name);
  }
  static std::string shard(const std::string& set, int number) {
    return fmt::format("{}/data-{:05}-of-00004.tfrecord", set, number);
  }
  /// By the folder and by a pattern.
  void expect_noticed(const std::string& set, const std::string& said) {
    for (const std::string& name : {set, set + "/*.tfrecord"}) {
      SCOPED_TRACE(name);
      for (const char* command : {"convert", "reshard"}) {
        const ProgramResult result = run_infeed({command, name, "-o", folder_.file("out")});
        EXPECT_NE(result.status, 0) << command << result.out;
        EXPECT_THAT(result.err, AllOf(HasSubstr(said), HasSubstr("list the files one by one")));
        EXPECT_FALSE(fs::exists(folder_.file("out")));
      }
      for (const char* command : {"verify", "inspect"}) {
        const ProgramResult result = run_infeed({command, name});
        EXPECT_EQ(result.status, 1) << command << result.out;
      }
      EXPECT_THAT(run_infeed({"inspect", name}).out, HasSubstr(said));
    }
  }
  nlohmann::json json() const { return nlohmann::json::parse(std::ifstream(folder_.file("json"))); }

  TemporaryFolder folder_;
};

TEST_F(WholeSets, AMissingShard) {
  const std::string set = copy_of("of_4", "gone");
  fs::remove(shard(set, 2));
  fs::remove(shard(set, 2) + ".index");
  expect_noticed(set, "the shard is missing: its set's manifest lists it with 10 records");
  EXPECT_THAT(run_infeed({"verify", set + "/*.tfrecord"}).out, HasSubstr("the shard is missing"));
  const ProgramResult repaired =
      run_infeed({"repair", set, "-o", folder_.file("saved"), "--json", folder_.file("json")});
  EXPECT_EQ(repaired.status, 0) << repaired.err;
  EXPECT_THAT(repaired.out, HasSubstr(shard(set, 2) + ": the shard is missing"));
  EXPECT_EQ(json().at("set_problems").size(), 1U);
}

TEST_F(WholeSets, AMissingShardWithoutAManifest) {
  const std::string set = copy_of("of_4", "gone");
  fs::remove(shard(set, 2));
  fs::remove(shard(set, 2) + ".index");
  fs::remove(set + "/data.manifest.json");
  const ProgramResult result = run_infeed({"reshard", set, "-o", folder_.file("out")});
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("1 of the set's 4 shards is missing: number 2"));
}

TEST_F(WholeSets, AShardThatWasCutBetweenTwoRecords) {
  const std::string set = copy_of("of_4", "cut");
  const auto whole_bytes = fs::file_size(shard(set, 1));
  fs::resize_file(shard(set, 1), whole_bytes / 10 * 6);
  expect_noticed(
      set, fmt::format("bytes instead of {}, by its set's manifest (10 records)", whole_bytes));
  const ProgramResult repaired =
      run_infeed({"repair", set, "-o", folder_.file("saved"), "--json", folder_.file("json")});
  EXPECT_EQ(repaired.status, 0) << repaired.err;
  EXPECT_THAT(repaired.out, AllOf(HasSubstr("its set's manifest lists 10 records, so 4 are lost"),
                                  HasSubstr("nothing was lost")));
  EXPECT_EQ(json().at("files").at(1).at("records_in_manifest"), 10);
}

TEST_F(WholeSets, TwoNumberingsInOneFolder) {
  const std::string set = copy_of("of_4", "two");
  fs::copy(folder_.file("of_8"), set,
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  expect_noticed(set, "whose manifest '" + set + "/data.manifest.json' doesn't list it");
  fs::remove(set + "/data.manifest.json");
  EXPECT_THAT(run_infeed({"reshard", set, "-o", folder_.file("out")}).err,
              HasSubstr("two numberings, of 4 and of 8 shards"));
}

TEST_F(WholeSets, ADamagedManifestIsSaidAndKeepsNobodyFromSavingRecords) {
  const std::string set = copy_of("of_4", "damaged");
  fs::resize_file(set + "/data.manifest.json", 100);
  expect_noticed(set, "the manifest is damaged");
  const ProgramResult repaired =
      run_infeed({"repair", set, "-o", folder_.file("saved"), "--json", folder_.file("json")});
  EXPECT_EQ(repaired.status, 0) << repaired.err;
  EXPECT_THAT(repaired.out, AllOf(HasSubstr("10 records saved"), HasSubstr("no manifest says"),
                                  HasSubstr("the manifest is damaged")));
  EXPECT_EQ(json().at("files").size(), 4U);
}

TEST_F(WholeSets, ShardsThatAreListedAreAChoiceThatIsSaid) {
  const std::string set = folder_.file("of_4");
  const ProgramResult result =
      run_infeed({"reshard", shard(set, 0), shard(set, 3), "-o", folder_.file("out")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("20 records of 2 files"),
                                HasSubstr("the listed shards are read, which aren't a whole set")));
}

TEST_F(WholeSets, VerifySaysWhichFilesOfAFolderNoManifestLists) {
  const std::string set = copy_of("of_4", "more");
  EXPECT_THAT(run_infeed({"verify", set}).out, Not(HasSubstr("note")));
  fs::copy_file(shard(set, 0), set + "/other-00000-of-00001.tfrecord");
  fs::copy_file(shard(set, 1), set + "/x.tfrecord");
  const ProgramResult verified = run_infeed({"verify", set, "--json", folder_.file("json")});
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_THAT(verified.out, AllOf(HasSubstr("good: 4 files"),
                                  HasSubstr("note: 2 record files without a manifest"),
                                  HasSubstr("not read, first 'other-00000-of-00001.tfrecord'")));
  EXPECT_THAT(json().at("notes"), SizeIs(1));
}

/// Nobody spoke of the folder of a killed --overwrite that was never called again.
TEST_F(WholeSets, AStoppedReplacementIsNamed) {
  const std::string set = folder_.file("of_4");
  const std::string beside = set + "/.data.new";
  const std::string said =
      fmt::format("'{}' holds an unfinished dataset that was to replace 'data'", beside);
  std::vector<std::string> command = {"convert", folder_.file("t.csv"), "-o", set, "--shards", "4"};
  fs::create_directory(beside);
  const ProgramResult verified = run_infeed({"verify", set, "--json", folder_.file("json")});
  EXPECT_EQ(verified.status, 0) << "the dataset is good";
  EXPECT_THAT(verified.out, HasSubstr(said));
  EXPECT_THAT(json().at("notes"), SizeIs(1));
  EXPECT_THAT(run_infeed(command).out, HasSubstr(said));
  EXPECT_TRUE(fs::exists(beside)) << "it may be wanted";
  command.push_back("--overwrite");
  EXPECT_THAT(run_infeed(command).out, Not(HasSubstr(said)));
  EXPECT_FALSE(fs::exists(beside));
  EXPECT_THAT(run_infeed({"verify", set}).out, Not(HasSubstr(said)));
}

TEST_F(WholeSets, AReplacementThatStoppedWhileItWasMovedIsAProblem) {
  const std::string set = folder_.file("of_4");
  const std::string beside = folder_.file("beside");
  fs::rename(set, beside);
  fs::create_directory(set);
  fs::rename(beside, set + "/.data.new");
  const ProgramResult verified = run_infeed({"verify", set});
  EXPECT_EQ(verified.status, 1);
  EXPECT_THAT(verified.out, AllOf(HasSubstr("the old dataset is gone"),
                                  HasSubstr("run the same infeed convert --overwrite again")));
  const ProgramResult moved =
      run_infeed({"convert", folder_.file("t.csv"), "-o", set, "--shards", "4", "--overwrite"});
  EXPECT_EQ(moved.status, 0) << moved.err;
  EXPECT_EQ(run_infeed({"verify", set}).status, 0);
}

}  // namespace
}  // namespace infeed::test
