#include <filesystem>
#include <string>
#include <vector>

#include <infeed/records/record_writer.h>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"

/// Files that commands write beside their work: --json, --html and the like.
namespace infeed::test {
namespace {

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

/// A folder's manifest and shards were replaced by the report about them, with status 0.
TEST(Reports, AFileOfADatasetIsntWrittenOver) {
  const TemporaryFolder folder;
  const std::string table = folder.write("t.csv", "a,b\n1,2\n");
  const std::string data = folder.file("data");
  const auto convert = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"convert", table, "-o", data, "--shards", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return run_infeed(words);
  };
  // Before there is any: the report would come last.
  EXPECT_EQ(convert({"--json", data + "/data.manifest.json"}).status, 2);
  ASSERT_EQ(convert({}).status, 0);
  const auto before = folder_content(data);
  const std::string shard = data + "/data-00000-of-00001.tfrecord";
  for (const std::string& report :
       {data + "/data.manifest.json", shard, shard + ".index", shard + ".idx"}) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"verify", data},
          {"inspect", data},
          {"repair", data, "-o", folder.file("saved")},
          {"reshard", data, "-o", folder.file("other")},
          {"convert", table, "-o", data, "--shards", "1"}}) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {"--json", report});
      const ProgramResult result = run_infeed(all);
      EXPECT_EQ(result.status, 2) << words[0];
      EXPECT_THAT(result.err, AllOf(HasSubstr("--json names '" + report + "'"),
                                    HasSubstr("name another file, such as report.json")));
    }
  }
  EXPECT_EQ(folder_content(data), before);
  const std::string report = folder.file("x.tfrecord.json");
  EXPECT_EQ(run_infeed({"verify", data, "--json", report}).status, 0);
}

/// The table was replaced by the report about its first batch.
TEST(Reports, AFileThatAPipelineReadsIsntWrittenOver) {
  const TemporaryFolder folder;
  const std::string table = folder.write("t.csv", "a\n1\n2\n");
  const auto pipeline_of = [&](const std::string& files) {
    return folder.write("pipeline.json", R"({"stages": [{"stage": "csv", "files": ")" + files +
                                             R"(", "columns": [{"name": "a", "dtype": "int64"}]},)"
                                             R"({"stage": "batch", "size": 2}]})");
  };
  for (const std::string& files : {table, folder.file("*.csv")}) {
    const std::string pipeline = pipeline_of(files);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"batch", "--step", "0", "--json"},
          {"pace", "--seconds", "0.01", "--step-us", "10", "--service-times"},
          {"profile", folder.file("run"), "--seconds", "0.1", "--html"}}) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {table, "--pipeline", pipeline});
      const ProgramResult result = run_infeed(all);
      EXPECT_EQ(result.status, 2) << words[0];
      EXPECT_THAT(result.err, HasSubstr(words.back() + " would write over '" + table +
                                        "', which the pipeline names; name another file"));
      EXPECT_EQ(read_whole(table), "a\n1\n2\n");
    }
  }
  const std::string report = folder.file("report.json");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(
        run_infeed({"batch", "--step", "0", "--pipeline", pipeline_of(table), "--json", report})
            .status,
        0);
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
