#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <infeed/records/shard_manifest.h>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"

/// Names that somebody else chose: of files, columns and shards.
namespace infeed::test {
namespace {

class HostileNames : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    return folder_.write(name, bytes);
  }
  ProgramResult convert(const std::string& input) const {
    return run_infeed({"convert", input, "-o", data(), "--shards", "1", "--json", json_file()});
  }
  std::string data() const { return folder_.file("data"); }
  std::string json_file() const { return folder_.file("json"); }
  nlohmann::json json() const { return nlohmann::json::parse(std::ifstream(json_file())); }
  std::string manifest(const std::string& shard) const {
    const std::string entry = to_json(ManifestShard{shard, {5, 1}, 1, std::nullopt});
    return write("m.manifest.json",
                 seal_manifest(R"({"plan":{},"plan_id":"","examples":1,"bytes":5,"columns":[],)"
                               R"("opaque_records":0,"quarantined":[],"shards":[)" +
                               entry + "]}"));
  }

  TemporaryFolder folder_;
};

TEST_F(HostileNames, AManifestNamesOnlyFilesOfItsFolder) {
  write("secret", "hello");
  fs::create_directory(folder_.file("sub"));
  for (const std::string name : {"/etc/passwd", "../secret", "/dev/zero", "sub/../secret", ".."}) {
    const ProgramResult result = run_infeed({"verify", manifest(name)});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.out, AllOf(HasSubstr("'" + name +
                                            "' as a shard, which is no name of a file "
                                            "in its own folder"),
                                  Not(HasSubstr("bytes"))));
  }
}

TEST_F(HostileNames, AShardThatIsNoFileIsNotRead) {
  fs::create_symlink("/dev/zero", folder_.file("zero"));
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  for (const std::string name : {"zero", "pipe"}) {
    const ProgramResult result = run_infeed({"verify", manifest(name)});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.out, HasSubstr(name + ": it is no regular file"));
  }
}

TEST_F(HostileNames, AManifestWithoutEndIsRefused) {
  fs::create_symlink("/dev/zero", folder_.file("x.manifest.json"));
  const ProgramResult result = run_infeed({"verify", folder_.file("x.manifest.json")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("this is no regular file (a device)"));
}

// Two names that Latin-1 writes with one byte each, which are no UTF-8.
TEST_F(HostileNames, ALatin1HeaderIsKeptAndVerified) {
  const ProgramResult converted = convert(write("in.csv", "gr\xf6n,gr\xfcn,x\n1,2,3\n"));
  EXPECT_EQ(converted.status, 0) << converted.err;
  EXPECT_EQ(json()["sets"][0]["columns"][0]["name"], "gr\\xf6n");
  EXPECT_EQ(json()["sets"][0]["columns"][1]["name"], "gr\\xfcn");
  const ProgramResult verified = run_infeed({"verify", data(), "--json", json_file()});
  EXPECT_EQ(verified.status, 0) << verified.out;
  const std::string shard = data() + "/data-00000-of-00001.tfrecord";
  const ProgramResult inspected = run_infeed({"inspect", shard, "--json", json_file()});
  EXPECT_EQ(inspected.status, 0) << inspected.err;
  EXPECT_THAT(inspected.out, HasSubstr("gr\\xf6n"));
  EXPECT_EQ(json()["columns"][0]["name"], "gr\\xf6n");
  // The same conversion again is complete already: the plan is found and is the same.
  EXPECT_THAT(convert(folder_.file("in.csv")).out, HasSubstr("complete already"));
}

TEST_F(HostileNames, JsonIsWrittenForFilesWhoseNamesAreNoUtf8) {
  const ProgramResult converted =
      convert(write("t\xe9"
                    "abl\xe8.csv",
                    "a\n1\n"));
  EXPECT_EQ(converted.status, 0) << converted.err;
  const std::string shard = data() + "/gr\xf6n.tfrecord";
  fs::copy_file(data() + "/data-00000-of-00001.tfrecord", shard);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"verify", shard}, std::vector<std::string>{"inspect", shard},
        std::vector<std::string>{"repair", shard, "-o", shard + ".saved"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--json", json_file()});
    const ProgramResult result = run_infeed(words);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_TRUE(json().is_object());
  }
  EXPECT_EQ(json()["file"], data() + "/gr\\xf6n.tfrecord");
}

TEST_F(HostileNames, ADeviceIsNotReadToItsEnd) {
  fs::create_symlink("/dev/zero", folder_.file("x.csv"));
  const ProgramResult table = convert(folder_.file("x.csv"));
  EXPECT_EQ(table.status, 1);
  EXPECT_THAT(table.err, HasSubstr("this is a device, which may go on for ever"));
  const ProgramResult bytes =
      run_infeed({"convert", folder_.file("x.csv"), "--kind", "files", "-o", data()});
  EXPECT_EQ(bytes.status, 1);
  EXPECT_THAT(bytes.err, HasSubstr("this is a device, which gave 64 MiB and goes on"));
}

TEST_F(HostileNames, NothingOfDataActsOnATerminal) {
  const auto is_clean = [](const std::string& text) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << text;
    EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos) << text;
    EXPECT_EQ(text.find('\a'), std::string::npos) << text;
  };
  const std::string bad =
      "a\x1b]0;title\x07\xc2\x9b"
      "2J\xe2\x80\xae";
  const ProgramResult named = run_infeed({"verify", manifest("../" + bad)});
  is_clean(named.out + named.err);
  EXPECT_THAT(named.out, HasSubstr("a\\x1b]0;title\\x07\\u009b2J\\u202e"));
  const ProgramResult missing = run_infeed({"verify", manifest(bad)});
  is_clean(missing.out + missing.err);
  const ProgramResult header = convert(write("in.csv", bad + "\nx\n"));
  is_clean(header.out + header.err + read_whole(json_file()));
  EXPECT_EQ(json()["sets"][0]["columns"][0]["name"], bad);  // JSON has its own escapes
  const ProgramResult lines = run_infeed(
      {"convert", write("in.jsonl", "{\"" + bad + "\": \n"), "-o", folder_.file("lines")});
  is_clean(lines.out + lines.err);
}

}  // namespace
}  // namespace infeed::test
