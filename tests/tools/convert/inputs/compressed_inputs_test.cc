#include <filesystem>
#include <fmt/format.h>

#include <infeed/records/files.h>

#include "matchers.h"
#include "tools/convert/inputs/conversion_test.h"
#include "tools/folder_content.h"

/// Files that the programs zstd, lz4 and gzip write and read, by the real program.
namespace infeed::test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;

struct Packer {
  const char* name;
  const char* command;  ///< reads stdin and writes stdout
  const char* ending;
};

class CompressedInputs : public ConversionTest, public ::testing::WithParamInterface<Packer> {
 protected:
  CompressedInputs() : ConversionTest("2") {}

  void SetUp() override {
    std::string table = "id,text\n";
    std::string lines;
    for (int i = 0; i < 5000; ++i) {
      table += fmt::format("{},word{}\n", i, i % 700);
      lines += fmt::format("{{\"id\": {}, \"text\": \"word{}\"}}\n", i, i % 700);
    }
    write("t.csv", table);
    write("l.jsonl", lines);
    shell(
        "mkdir m && for i in 1 2 3; do echo $i >m/$i.cls; seq $i 20000 >m/$i.txt; done && "
        "tar --sort=name -cf t.tar -C m .");
  }
};

TEST_P(CompressedInputs, HoldWhatThePlainFilesHold) {
  for (const std::string name : {"t.csv", "l.jsonl", "t.tar"}) {
    const std::vector<std::string> expected = converted({folder_.file(name)});
    ASSERT_GE(expected.size(), 3U);
    shell(fmt::format("{} <{} >{}{}", GetParam().command, name, name, GetParam().ending));
    EXPECT_THAT(converted({folder_.file(name + GetParam().ending)}), ElementsAreArray(expected))
        << name;
  }
}

TEST_P(CompressedInputs, HoldRecords) {
  const std::vector<std::string> expected = converted({folder_.file("t.csv")});
  shell(
      fmt::format("for i in 0 1; do {} <out/data-0000$i-of-00002.tfrecord "
                  ">r-0000$i-of-00002.tfrecord{}; done",
                  GetParam().command, GetParam().ending));
  const std::string pattern = folder_.file("r-*");
  EXPECT_THAT(run_infeed({"verify", pattern}).out, HasSubstr("good: 2 files, 5,000"));
  EXPECT_THAT(run_infeed({"inspect", pattern}).out, HasSubstr("word"));
  const ProgramResult result =
      run_infeed({"reshard", pattern, "-o", folder_.file("back"), "--shards", "2"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(example_texts(match_files(folder_.file("back/data-*.tfrecord"))),
              ElementsAreArray(expected));
  const std::string first = folder_.file("r-00000-of-00002.tfrecord") + GetParam().ending;
  EXPECT_EQ(run_infeed({"repair", first, "-o", folder_.file("saved")}).status, 0);
  EXPECT_EQ(example_texts({folder_.file("saved")}).size(), 2500U);
}

TEST_P(CompressedInputs, AreRepairedIntoFilesWhoseNamesSayTheirCompression) {
  const std::string ending = GetParam().ending;
  const bool is_zstd = ending == ".zst";
  ASSERT_EQ(converted({folder_.file("t.csv")}).size(), 5000U);
  shell(fmt::format("mkdir in && {} <out/data-00000-of-00002.tfrecord >in/r.tfrecord{}",
                    GetParam().command, ending));
  const std::string file = folder_.file("in/r.tfrecord") + ending;
  const ProgramResult same = run_infeed({"repair", file, "-o", folder_.file("saved") + ending});
  EXPECT_EQ(same.status, is_zstd ? 1 : 0) << same.err;
  if (is_zstd) {
    EXPECT_THAT(same.err, HasSubstr("the saved records will be gzip (zstd is only read), but the "
                                    "output's name ends with .zst; give it another ending"));
    EXPECT_FALSE(fs::exists(folder_.file("saved.zst")));
  }
  const std::string other = ending == ".gz" ? ".lz4" : ".gz";
  EXPECT_EQ(run_infeed({"repair", file, "-o", folder_.file("x") + other}).status, is_zstd ? 0 : 1);
  const ProgramResult all = run_infeed({"repair", folder_.file("in"), "-o", folder_.file("all")});
  EXPECT_EQ(all.status, 0) << all.err;
  const std::string saved = "all/r.tfrecord" + (is_zstd ? ".gz" : ending);
  EXPECT_EQ(example_texts({folder_.file(saved)}).size(), 2500U);
}

TEST_P(CompressedInputs, AreNotReadWhenCut) {
  const std::string name = std::string("t.csv") + GetParam().ending;
  shell(fmt::format("{} <t.csv >whole", GetParam().command));
  const std::string whole = read_whole(folder_.file("whole"));
  expect_failure({write(name, whole.substr(0, whole.size() / 2))}, {"data_loss", name});
}

INSTANTIATE_TEST_SUITE_P(Of, CompressedInputs,
                         ::testing::Values(Packer{"Zstd", "zstd -qc", ".zst"},
                                           Packer{"ZstdLong", "zstd -qc -1 --long=27", ".zst"},
                                           Packer{"Lz4", "lz4 -qc", ".lz4"},
                                           Packer{"Lz4Linked", "lz4 -qc -B4 -BD", ".lz4"},
                                           Packer{"Lz4Bare", "lz4 -qc --no-frame-crc", ".lz4"},
                                           Packer{"Gzip", "gzip -c", ".gz"}),
                         [](const auto& test) { return std::string(test.param.name); });

class PackedShards : public CompressedInputs {};

TEST_P(PackedShards, AreReadByTheirProgram) {
  said({folder_.file("t.csv")});
  const std::string plain = read_whole(folder_.file("out/data-00001-of-00002.tfrecord"));
  said({folder_.file("t.csv"), "--compression", GetParam().name});
  shell(fmt::format("{} <out/data-00001-of-00002.tfrecord{} >unpacked", GetParam().command,
                    GetParam().ending));
  EXPECT_EQ(read_whole(folder_.file("unpacked")), plain);
}

INSTANTIATE_TEST_SUITE_P(Of, PackedShards,
                         ::testing::Values(Packer{"lz4", "lz4 -dqc", ".lz4"},
                                           Packer{"gzip", "gzip -dc", ".gz"}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ForeignInputs, AreNamedByConvert) {
  const TemporaryFolder folder;
  for (const auto& [front, said] : std::vector<std::pair<std::string, std::string>>{
           {"BZh91AY&SY\x94", "compressed by bzip2"},
           {std::string("\xfd\x37\x7a\x58\x5a\x00", 6), "compressed by xz"},
           {"PK\x03\x04\x14", "a zip archive"},
           {"PAR1\x15\x04", "a Parquet file"},
           {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "git lfs pull"},
           {"<!DOCTYPE html>\n<html><body>Sign in</body></html>\n", "an HTML page"}}) {
    for (const std::string name : {"t.csv", "t.tsv", "l.jsonl"}) {
      const ProgramResult result = run_infeed(
          {"convert", folder.write(name, front + "a,b\n1,2\n"), "-o", folder.file("out")});
      EXPECT_EQ(result.status, 1);
      EXPECT_THAT(result.err, AllOf(HasSubstr(said), HasSubstr(name)));
    }
  }
}

}  // namespace
}  // namespace infeed::test
