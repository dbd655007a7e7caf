#include <atomic>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <map>

#include "convert/convert_together.h"
#include "matchers.h"
#include "records/remote/http/http_server.h"
#include "records/remote/http/memory_store.h"
#include "temporary_folder.h"
#include "tools/convert/numbered_inputs.h"
#include "tools/convert/shared_conversion.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"
#include "world/local_world.h"

/// `infeed convert -o s3://...`: what one process writes into a folder lies in an object store.
namespace infeed::test {
namespace {

using ::testing::Each;

class ConvertStore : public ::testing::Test {
 protected:
  ConvertStore()
      : server_([this](const HttpRequestSeen& request) {
          if (struck_ && is_change(request) && ++changes_ == struck_) has_struck_ = true;
          // The program waits for a byte that doesn't come, until it is killed. An answer without
          // any would be whole, and the program would go on.
          if (has_struck_) return HttpReply{.body = " ", .hang_after = 0};
          return store_.answer(request);
        }) {
    write_table(200);
    const ProgramResult one = run_infeed(words({"-o", folder_.file("whole")}));
    EXPECT_EQ(one.status, 0) << one.err;
  }
  void write_table(int rows) const { folder_.write("table.csv", prices(rows)); }
  std::vector<std::string> words(const std::vector<std::string>& more) const {
    return with({"convert", folder_.file("table.csv"), "--shards", "4"}, more);
  }
  /// Converts into the store, with a folder of that name for the work.
  ProgramResult run(const std::string& work, std::vector<std::string> more = {},
                    const std::string& output = "s3://bucket/sets/") {
    more.insert(more.end(), {"-o", output, "--work", folder_.file(work)});
    ProgramOptions options{.environment = {{"AWS_ENDPOINT_URL", server_.url("")},
                                           {"AWS_ACCESS_KEY_ID", "AKIDTEST"},
                                           {"AWS_SECRET_ACCESS_KEY", "secret"},
                                           {"AWS_REGION", "us-east-1"},
                                           {"AWS_CONFIG_FILE", "/nowhere/config"},
                                           {"AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials"}},
                           .signal = SIGKILL};
    options.send_signal_when = [this] { return has_struck_.load(); };
    meet_server();
    ProgramResult result = run_infeed(words(more), options);
    meet_server();
    return result;
  }
  /// Orders what this thread and the server's do with the store: a process in between doesn't.
  void meet_server() const { (void)server_.requests(); }
  /// Returns how the store differs from the folder of one process.
  std::string differences(const std::string& begin = "/bucket/sets/") const {
    std::map<std::string, std::string> stored;
    for (const auto& [name, bytes] : store_.objects) {
      stored[name.starts_with(begin) ? name.substr(begin.size()) : name] = bytes;
    }
    return difference(folder_content(folder_.file("whole")), stored);
  }
  static bool is_change(const HttpRequestSeen& request) { return request.method != "GET"; }

  const TemporaryFolder folder_;
  MemoryStore store_;
  std::atomic<bool> has_struck_{false};
  int changes_ = 0;
  int struck_ = 0;
  HttpServer server_;
};

TEST_F(ConvertStore, OneProcessWritesWhatItWritesIntoAFolder) {
  const ProgramResult result = run("work");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("s3://bucket/sets/data-00000-of-00004.tfrecord"));
  EXPECT_EQ(differences(), "");
  EXPECT_TRUE(folder_content(folder_.file("work")).empty());
  std::string last;
  for (const HttpRequestSeen& request : server_.seen()) {
    if (!is_change(request)) continue;
    last = request.path;
    EXPECT_EQ(request.header("if-none-match"), last.ends_with(".manifest.json") ? "*" : "");
  }
  EXPECT_EQ(last, "/bucket/sets/data.manifest.json");

  const std::size_t requests = server_.requests();
  EXPECT_THAT(run("elsewhere").out, HasSubstr("complete already"));
  for (std::size_t i = requests; i < server_.requests(); ++i) {
    EXPECT_FALSE(is_change(server_.seen()[i]));
  }
  EXPECT_THAT(run("work", {"--seed", "1"}).err,
              AllOf(HasSubstr("another dataset is there already"), HasSubstr("order: ")));
  EXPECT_THAT(run("work", {"--overwrite"}).err, HasSubstr("isn't replaced"));
  EXPECT_EQ(differences(), "");
}

TEST_F(ConvertStore, MachinesWithoutACommonFolderShareAConversion) {
  EXPECT_EQ(run("a", {"--shard", "0/3"}).status, 0);
  EXPECT_EQ(run("c", {"--shard", "2/3"}).status, 0);
  const ProgramResult early = run("d", {"--finish"});
  EXPECT_EQ(early.status, 1);
  EXPECT_THAT(early.err, AllOf(HasSubstr("1 of 4 shards are not made yet"),
                               HasSubstr("run --shard 1/3, then --finish")));
  EXPECT_EQ(run("b", {"--shard", "1/3"}).status, 0);
  EXPECT_THAT(run("e", {"--shard", "0/3"}).out, HasSubstr("in 2 shards (2 of them made before)"));
  const std::string shard = "/bucket/sets/data-00001-of-00004.tfrecord";
  const std::string bytes = store_.objects[shard];
  store_.objects[shard] += "x";
  EXPECT_THAT(run("d", {"--finish"}).err, HasSubstr("bytes instead of"));
  store_.objects[shard] = bytes;
  const ProgramResult finished = run("d", {"--finish"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_EQ(differences(), "") << "journals are removed, too";
}

TEST_F(ConvertStore, KilledAtEveryChangeOfTheStoreTheNextCallGoesOn) {
  for (int struck = 1;; ++struck) {
    SCOPED_TRACE(struck);
    changes_ = 0;
    struck_ = struck;
    const ProgramResult killed = run("work", {"--threads", "1"});
    if (!has_struck_) {
      EXPECT_EQ(killed.status, 0) << killed.err;
      EXPECT_EQ(struck, 4 * 2 + 1 + 1);
      break;
    }
    EXPECT_EQ(killed.status, 128 + SIGKILL) << killed.err;
    EXPECT_FALSE(store_.objects.contains("/bucket/sets/data.manifest.json"));
    struck_ = 0;
    has_struck_ = false;
    const ProgramResult again = run("work");
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(differences(), "");
    EXPECT_TRUE(folder_content(folder_.file("work")).empty());
    store_.objects.clear();
  }
}

TEST_F(ConvertStore, SomebodyElsesManifestIsRefused) {
  run("work");
  auto other = store_.objects;
  store_.objects.clear();
  // Another writer's manifest comes in between.
  struck_ = 0;
  write_table(100);
  EXPECT_EQ(run("a", {"--shard", "0/1"}).status, 0);
  store_.objects["/bucket/sets/data.manifest.json"] = other["/bucket/sets/data.manifest.json"];
  const ProgramResult late = run("a", {"--finish"});
  EXPECT_EQ(late.status, 1);
  EXPECT_THAT(late.err, HasSubstr("another dataset is there already"));
}

TEST_F(ConvertStore, AWebServerTakesPuts) {
  const ProgramResult result = run("work", {}, server_.url("/files"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(differences("/files/"), "");
}

TEST_F(ConvertStore, RanksNeedNoCommonFolder) {
  const auto input = numbered_input(folder_, 500);
  tools::ConvertOptions options{.prefix = folder_.file("one/data"), .shard_count = 9, .threads = 1};
  tools::convert(*input, options);
  // A killed process left this of a shard that another rank makes now.
  fs::create_directory(folder_.file("work1"));
  write_whole(folder_.file("work1/.data-00003-of-00009.tfrecord.partial"), "torn");
  options.store_url = server_.url("/ranks");
  LocalWorld world(3);
  const auto errors = world.run([&](Communicator& ranks) {
    tools::ConvertOptions own = options;
    own.prefix = folder_.file(fmt::format("work{}/data", ranks.world().rank));
    tools::ConvertRanks(ranks).convert(*input, own);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  std::map<std::string, std::string> stored;
  for (const auto& [name, bytes] : store_.objects) {
    stored[name.substr(std::string("/ranks/").size())] = bytes;
  }
  EXPECT_EQ(difference(folder_content(folder_.file("one")), stored), "");
  for (const std::string work : {"work0", "work1", "work2"}) {
    EXPECT_TRUE(folder_content(folder_.file(work)).empty()) << work;
  }
}

TEST_F(ConvertStore, AsksForAFolderForTheWork) {
  const ProgramResult result = run_infeed(words({"-o", "s3://bucket/sets"}));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("--work DIR"));
  EXPECT_THAT(run_infeed(words({"-o", folder_.file("out"), "--work", folder_.file("work")})).err,
              HasSubstr("--work is for an output that is a URL"));
}

}  // namespace
}  // namespace infeed::test
