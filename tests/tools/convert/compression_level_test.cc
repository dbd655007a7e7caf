#include <filesystem>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/run_program.h"

/// --compression-level, by the real program.
namespace infeed::test {
namespace {

class CompressionLevel : public ::testing::Test {
 protected:
  ProgramResult convert(std::vector<std::string> more, const std::string& output = "out") const {
    std::string table = "a,text\n";
    for (int i = 0; i < 3000; ++i) {
      table += std::to_string(i) + ",word" + std::to_string(i * i % 701) + "\n";
    }
    more.insert(more.begin(),
                {"convert", file(table), "-o", folder_.file(output), "--shards", "1"});
    return run_infeed(more);
  }
  /// Written once: a plan knows the file's time.
  std::string file(const std::string& text) const {
    return fs::exists(folder_.file("t.csv")) ? folder_.file("t.csv") : folder_.write("t.csv", text);
  }
  TemporaryFolder folder_;
};

TEST_F(CompressionLevel, MakesShardsSmaller) {
  for (const std::string name : {"gzip", "lz4"}) {
    std::vector<std::uint64_t> sizes;
    for (const std::string level : {"0", name == "gzip" ? "9" : "3"}) {
      const std::string output = name + level;
      const ProgramResult result =
          convert({"--compression", name, "--compression-level", level}, output);
      ASSERT_EQ(result.status, 0) << result.err;
      const std::string ending = name == "gzip" ? "gz" : "lz4";
      sizes.push_back(
          fs::file_size(folder_.file(output + "/data-00000-of-00001.tfrecord." + ending)));
      EXPECT_EQ(run_infeed({"verify", folder_.file(output)}).status, 0);
    }
    EXPECT_LT(sizes[1], sizes[0]) << name;
  }
}

TEST_F(CompressionLevel, IsRefusedWhereItMakesNoSense) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"--compression-level", "1"},
           {"--compression", "none", "--compression-level", "1"},
           {"--compression", "lz4", "--compression-level", "4"}}) {
    const ProgramResult result = convert(words);
    EXPECT_NE(result.status, 0);
    EXPECT_THAT(result.err, HasSubstr("gzip has 0 to 9, lz4 0 to 3, and none has none"));
  }
  EXPECT_NE(convert({"--compression", "gzip", "--compression-level", "10"}).status, 0);
  EXPECT_FALSE(fs::exists(folder_.file("out")));
}

TEST_F(CompressionLevel, BelongsToThePlan) {
  ASSERT_EQ(convert({"--compression", "gzip", "--compression-level", "9"}).status, 0);
  EXPECT_EQ(convert({"--compression", "gzip", "--compression-level", "9"}).status, 0);
  EXPECT_THAT(convert({"--compression", "gzip", "--compression-level", "6"}).err,
              HasSubstr("compression_level: 9 there, 6 now"));
  EXPECT_THAT(convert({"--compression", "gzip"}).err,
              HasSubstr("compression_level: 9 there, none now"));
}

}  // namespace
}  // namespace infeed::test
