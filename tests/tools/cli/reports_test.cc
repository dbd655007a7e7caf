#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <infeed/records/record_writer.h>

#include "temporary_folder.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"

/// Files that commands write beside their work: --json, --html and the like.
namespace infeed::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A dataset was replaced by the report about it.
TEST(Reports, AFileThatIsReadIsntWrittenOver) {
  const TemporaryFolder folder;
  const std::string shard = folder.file("a.tfrecord");
  {
    RecordWriter writer(shard);
    writer.write("record");
    writer.close();
  }
  const std::string before = read_whole(shard);
  const std::string link = folder.file("link");
  fs::create_hard_link(shard, link);
  for (const std::vector<std::string>& words :
       {std::vector{std::string("inspect"), shard, std::string("--json"), shard},
        {"inspect", folder.file("*.tfrecord"), "--json", folder.file("./a.tfrecord")},
        {"verify", shard, "--json", link},
        {"repair", shard, "-o", folder.file("b"), "--json", shard}}) {
    const ProgramResult result = run_infeed(words);
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.err, AllOf(HasSubstr("--json would write over"), HasSubstr("too")));
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_EQ(read_whole(shard), before);
  }
}

TEST(Reports, TwoDontGetOneFile) {
  const TemporaryFolder folder;
  const std::string report = folder.file("report");
  const ProgramResult result =
      run_infeed({"profile", folder.file("x"), "--json", report, "--html", report});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("--html"));
}

TEST(Reports, AnOlderReportIsReplacedAndADeviceTakesSeveral) {
  const TemporaryFolder folder;
  const std::string shard = folder.file("a.tfrecord");
  RecordWriter(shard).close();
  const std::string report = folder.file("report.json");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run_infeed({"inspect", shard, "--json", report}).status, 0);
  }
  EXPECT_THAT(
      run_infeed({"profile", folder.file("x"), "--json", "/dev/null", "--html", "/dev/null"}).err,
      HasSubstr("x"))
      << "the recording is missing, which is all that is wrong";
}

}  // namespace
}  // namespace infeed::test
