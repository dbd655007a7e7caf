#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "records/http_server.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"
#include "tools/temporary_folder.h"

/// inspect and verify by URL, by the real program.
namespace infeed::testing {
namespace {

using ::testing::HasSubstr;

class UrlCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream table(folder_.file("t.csv"));
    table << "id\n";
    for (int i = 0; i < 400; ++i) table << i << '\n';
    table.close();
    ASSERT_EQ(
        run({"convert", folder_.file("t.csv"), "-o", folder_.file("data"), "--shards", "4"}).status,
        0);
  }
  static ProgramResult run(const std::vector<std::string>& arguments) {
    return run_infeed(arguments, {.environment = {{"no_proxy", "*"}}});
  }
  std::string content_of(const std::string& path) const {
    std::ifstream file(folder_.file("data") + path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryFolder folder_;
  HttpServer server_{[this](const HttpRequestSeen& request) -> HttpReply {
    if (!std::filesystem::exists(folder_.file("data") + request.path)) return {.status = 404};
    return serve_bytes(request, content_of(request.path));
  }};
};

TEST_F(UrlCommands, InspectShowsTheShards) {
  const ProgramResult result = run({"inspect", server_.url("/data-*-of-00004.tfrecord")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("all 400 records"));
  EXPECT_THAT(result.out, HasSubstr("Record 0 of data-00000-of-00004.tfrecord"));
}

TEST_F(UrlCommands, VerifyChecksShardsAndManifest) {
  EXPECT_THAT(run({"verify", server_.url("/data-*-of-00004.tfrecord")}).out,
              HasSubstr("4 record files: good: 4 files, 400 records"));
  const ProgramResult whole = run({"verify", server_.url("/data.manifest.json")});
  EXPECT_EQ(whole.status, 0) << whole.out << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("good: 4 files, 400 records"));
  std::filesystem::remove(folder_.file("data/data-00002-of-00004.tfrecord"));
  const ProgramResult missing = run({"verify", server_.url("/data.manifest.json")});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.out,
              HasSubstr(server_.url("/data-00002-of-00004.tfrecord") + ": it is missing"));
}

TEST_F(UrlCommands, NameWhatIsNotThere) {
  const ProgramResult result = run({"inspect", server_.url("/no.tfrecord")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("not found: there is no such object at 127.0.0.1:"));
}

}  // namespace
}  // namespace infeed::testing
