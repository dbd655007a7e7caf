#include <csignal>
#include <filesystem>
#include <fmt/format.h>

#include <infeed/records/crc32c.h>
#include <infeed/records/files.h>
#include <infeed/records/shard_manifest.h>

#include "matchers.h"
#include "records/remote/http/http_server.h"
#include "records/tfrecord/framed.h"
#include "temporary_folder.h"
#include "tools/convert/inputs/npy_bytes.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"

/// inspect, verify and convert by URL, by the real program.
namespace infeed::test {
namespace {

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
  void serve(const std::string& name, const std::string& content) const {
    folder_.write("data/" + name, content);
  }
  ProgramResult convert(const std::vector<std::string>& inputs, const std::string& output) const {
    std::vector<std::string> arguments{"convert", "-o", folder_.file(output), "--shards", "4"};
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    return run(arguments);
  }
  /// Encodes them as in SetUp's dataset.
  void expect_same_shards(const std::string& output) const {
    for (const std::string& shard : match_files(folder_.file("data/data-*-of-00004.tfrecord"))) {
      const std::string name = std::filesystem::path(shard).filename().string();
      EXPECT_EQ(read_whole(folder_.file(output + "/" + name)), read_whole(shard)) << name;
    }
  }

  TemporaryFolder folder_;
  HttpServer server_{[this](const HttpRequestSeen& request) -> HttpReply {
    const std::string file = folder_.file("data") + request.path.substr(0, request.path.find('?'));
    if (!std::filesystem::exists(file)) return {.status = 404};
    const std::string content = read_whole(file);
    return serve_bytes(request, content, fmt::format("\"{:x}\"", crc32c(content)));
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

// It read the local file that another machine's manifest named.
TEST_F(UrlCommands, AManifestByUrlReadsNoLocalFile) {
  const std::string shard = to_json(ManifestShard{folder_.file("t.csv"), {5, 1}, 1, std::nullopt});
  serve("x.manifest.json", seal_manifest("{\"shards\":[" + shard + "]}"));
  const ProgramResult result = run({"verify", server_.url("/x.manifest.json")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, HasSubstr("is no name of a file in its own folder"));
}

TEST_F(UrlCommands, PrintNoQueryOfAUrl) {
  for (const std::string command : {"verify", "inspect"}) {
    const ProgramResult result =
        run({command, server_.url("/data-00000-of-00004.tfrecord?Token=x7y"), "--json",
             folder_.file("json")});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out + result.err + read_whole(folder_.file("json")), Not(HasSubstr("x7y")));
  }
  EXPECT_THAT(run({"verify", server_.url("/none.tfrecord?sas=x7y")}).err,
              AllOf(HasSubstr("/none.tfrecord?..."), Not(HasSubstr("x7y"))));
}

TEST_F(UrlCommands, IndexIsRefusedBeforeAnythingIsRead) {
  const ProgramResult result =
      run({"index", server_.url("/data-00000-of-00004.tfrecord?key=secret")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("index a copy on this machine"), Not(HasSubstr("secret"))));
}

TEST_F(UrlCommands, ConvertReadsEveryKindOfTextAndRecords) {
  const std::string table = read_whole(folder_.file("t.csv"));
  serve("t.csv", table);
  serve("t.csv.gz", gzip(table));
  std::string output = "out";
  for (const std::string name : {"/t.csv", "/t.csv.gz", "/t.csv?Signature=secret"}) {
    output += "_";
    const ProgramResult result = convert({server_.url(name)}, output);
    EXPECT_EQ(result.status, 0) << result.err;
    expect_same_shards(output);
  }
  EXPECT_THAT(read_whole(folder_.file(output + "/data.manifest.json")),
              AllOf(HasSubstr("/t.csv?..."), Not(HasSubstr("secret"))));
  const ProgramResult records = convert({server_.url("/data-*-of-00004.tfrecord")}, "resharded");
  EXPECT_EQ(records.status, 0) << records.err;
  expect_same_shards("resharded");
}

TEST_F(UrlCommands, ConvertNamesAnArrayByItsFileAlone) {
  serve("values.npy", npy("|u1", "(4,)", "abcd"));
  const ProgramResult result = convert({server_.url("/values.npy?Signature=a.secret")}, "out");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("4 rows of values "));
  EXPECT_THAT(read_whole(folder_.file("out/data.manifest.json")), Not(HasSubstr("secret")));
}

TEST_F(UrlCommands, ConvertSeesThatAnObjectHasChanged) {
  serve("t.csv", "id\n1\n2\n3\n4\n");
  const std::vector<std::string> input{server_.url("/t.csv")};
  ASSERT_EQ(convert(input, "out").status, 0);
  EXPECT_EQ(convert(input, "out").status, 0);
  serve("t.csv", "id\n1\n2\n3\n5\n");
  const ProgramResult changed = convert(input, "out");
  EXPECT_EQ(changed.status, 1);
  EXPECT_THAT(changed.err, AllOf(HasSubstr("another dataset"), HasSubstr(input.front()),
                                 HasSubstr("11 bytes, version")));
}

/// Rows of both were in the shards.
TEST_F(UrlCommands, ConvertSeesThatAnObjectChangesMeanwhile) {
  const HttpServer server([](const HttpRequestSeen& request) {
    return serve_bytes(request, "id\n1\n2\n", fmt::format("\"version {}\"", request.number));
  });
  const ProgramResult result = convert({server.url("/t.csv")}, "out");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("/t.csv"), HasSubstr("has changed while it was converted")));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out/data.manifest.json")));
}

TEST_F(UrlCommands, ConvertNamesWhatIsWrongWithAnObject) {
  const auto said = [this](const std::string& path) {
    const ProgramResult result = convert({server_.url(path)}, "out");
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  };
  EXPECT_THAT(said("/no.csv"), HasSubstr("not_found: there is no such object at 127.0.0.1:"));
  serve("cut.csv.gz", gzip(read_whole(folder_.file("t.csv"))).substr(0, 100));
  EXPECT_THAT(said("/cut.csv.gz"),
              AllOf(HasSubstr("data_loss"), HasSubstr("/cut.csv.gz"), Not(HasSubstr("/proc/"))));
  // Text that begins as a zlib stream would.
  serve("text.csv", "HK\n1\n2\n");
  EXPECT_EQ(convert({server_.url("/text.csv")}, "text").status, 0);
}

/// The first Ctrl-C did nothing while a worker waited.
TEST_F(UrlCommands, CtrlCEndsAWorkersWaitForAServer) {
  const HttpServer server([](const HttpRequestSeen& request) {
    HttpReply reply = serve_bytes(request, "content");
    if (request.number > 0) reply.hang_after = 0;  // the first one asks for the size
    return reply;
  });
  const ProgramResult ended = run_infeed({"convert", "--kind", "files", server.url("/file"), "-o",
                                          folder_.file("out"), "--shards", "1"},
                                         {.environment = {{"no_proxy", "*"}},
                                          .send_signal_when = [&] { return server.requests() > 1; },
                                          .signal = SIGINT});
  EXPECT_EQ(ended.status, 130) << ended.err;
  EXPECT_LT(ended.seconds_after_signal, kSoonSeconds);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("stopped"), Not(HasSubstr("while the input was read"))));
}

TEST_F(UrlCommands, NameWhatIsNotThere) {
  const ProgramResult result = run({"inspect", server_.url("/no.tfrecord")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("not_found: there is no such object at 127.0.0.1:"));
}

}  // namespace
}  // namespace infeed::test
