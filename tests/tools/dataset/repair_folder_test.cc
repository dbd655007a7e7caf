#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include <infeed/records/record_writer.h>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/run_program.h"

/// A folder with a file that can't be saved, and one whose repair is stopped.
namespace infeed::test {
namespace {

class RepairFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(damaged());
    for (int i = 0; i < 4; ++i) write(fmt::format("x-0000{}-of-00004.tfrecord", i), i + 1);
  }
  std::string damaged() const { return folder_.file("damaged"); }
  std::string saved() const { return folder_.file("saved"); }
  void write(const std::string& name, int records) const {
    RecordWriter writer(damaged() + "/" + name);
    for (int i = 0; i < records; ++i) writer.write("record");
    writer.close();
  }
  ProgramResult repair(const ProgramOptions& options = {}) const {
    return run_infeed({"repair", damaged(), "-o", saved(), "--json", folder_.file("json")},
                      options);
  }

  const TemporaryFolder folder_;
};

TEST_F(RepairFolder, AFileWithoutAWholeRecordKeepsNobodyFromSavingTheOthers) {
  std::ofstream(damaged() + "/x-00001-of-00004.tfrecord", std::ios::trunc)
      << std::string(300, '\0');
  const ProgramResult result = repair();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("nothing could be saved of 1 of 4 files"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("x-00001-of-00004.tfrecord: nothing saved: no whole"),
                                HasSubstr("4 records saved")));
  for (const int whole : {0, 2, 3}) {
    const std::string name = fmt::format("/x-0000{}-of-00004.tfrecord", whole);
    EXPECT_EQ(read_whole(saved() + name), read_whole(damaged() + name));
  }
  EXPECT_FALSE(fs::exists(saved() + "/x-00001-of-00004.tfrecord"));
  const auto files = nlohmann::json::parse(std::ifstream(folder_.file("json"))).at("files");
  ASSERT_EQ(files.size(), 4);
  EXPECT_THAT(files.at(1).at("error"), HasSubstr("no whole record"));
  EXPECT_EQ(files.at(3).at("records_saved"), 4);
}

TEST_F(RepairFolder, FilesThatWouldBeSavedUnderOneNameAreRefused) {
  write("y.tfrecord.gz", 2);
  // An empty frame of zstd.
  std::ofstream(damaged() + "/y.tfrecord.zst") << std::string("\x28\xb5\x2f\xfd\x20\0\x01\0\0", 9);
  for (const bool overwrite : {false, true}) {
    std::vector<std::string> command{"repair", damaged(), "-o", saved()};
    if (overwrite) command.emplace_back("--overwrite");
    const ProgramResult result = run_infeed(command);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("y.tfrecord.gz' would"), HasSubstr("y.tfrecord.zst")));
    EXPECT_FALSE(fs::exists(saved()));
  }
}

TEST_F(RepairFolder, AStopSaysHowManyFilesAreDone) {
  fs::resize_file(damaged() + "/x-00002-of-00004.tfrecord",
                  std::uintmax_t{1} << 36);  // 64 GiB to search
  const ProgramResult result = repair(
      {.send_signal_when = [&] { return fs::exists(saved() + "/x-00001-of-00004.tfrecord.index"); },
       .signal = SIGINT});
  EXPECT_EQ(result.status, 130);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("stopped: 2 of 4 files are done"), HasSubstr("--overwrite")));
  EXPECT_LT(result.seconds_after_signal, kSoonSeconds);
}

}  // namespace
}  // namespace infeed::test
