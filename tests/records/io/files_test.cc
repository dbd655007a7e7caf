#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <stop_token>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <infeed/records/file.h>
#include <infeed/records/files.h>

#include "io/pattern/path_pattern.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using ::testing::EndsWith;

TEST(MatchFiles, sorts_by_bytes_and_leaves_partial_files_and_folders_out) {
  const TemporaryFolder folder;
  for (const char* name : {"b-2", "b-10", "B-1", ".b-3.partial"}) folder.write(name, "");
  std::filesystem::create_directory(folder.file("b-folder"));
  EXPECT_THAT(match_files(folder.file("*")),
              ElementsAre(folder.file("B-1"), folder.file("b-10"), folder.file("b-2")));
  EXPECT_THAT(match_files(folder.file("b-?")), ElementsAre(folder.file("b-2")));
  EXPECT_THAT(match_files(folder.file("[bB]-[12]")),
              ElementsAre(folder.file("B-1"), folder.file("b-2")));
  EXPECT_THAT(match_files(folder.file("b-2")), ElementsAre(folder.file("b-2")));
}

TEST(MatchFiles, wildcards_in_folders) {
  const TemporaryFolder folder;
  for (const char* name : {"y", "x"}) {
    std::filesystem::create_directory(folder.file(name));
    folder.write(std::string(name) + "/data", "");
  }
  EXPECT_THAT(match_files(folder.file("*/data")),
              ElementsAre(folder.file("x/data"), folder.file("y/data")));
}

TEST(MatchFiles, several_patterns_keep_their_order_and_no_file_twice) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b", "c"}) folder.write(name, "");
  EXPECT_THAT(match_files({folder.file("c"), folder.file("*")}),
              ElementsAre(folder.file("c"), folder.file("a"), folder.file("b")));
}

TEST(MatchFiles, a_name_that_exists_is_that_file) {
  const TemporaryFolder folder;
  for (const char* name : {"labels[1].csv", "labels1.csv", "a{b,c}", "ab", "what?", "x*y", "xy"}) {
    folder.write(name, "");
  }
  for (const char* name : {"labels[1].csv", "a{b,c}", "what?", "x*y"}) {
    EXPECT_THAT(match_files(folder.file(name)), ElementsAre(folder.file(name)));
  }
  EXPECT_THAT(match_files(folder.file("labels[12].csv")), ElementsAre(folder.file("labels1.csv")));
  EXPECT_THAT(match_files(folder.file("labels\\[1].csv")),
              ElementsAre(folder.file("labels[1].csv")));
}

TEST(MatchFiles, two_stars_are_any_depth) {
  const TemporaryFolder folder;
  for (const char* name : {"x", "x/y", ".hidden"}) {
    std::filesystem::create_directory(folder.file(name));
  }
  for (const char* name : {"a.csv", "x/b.csv", "x/y/c.csv", "x/y/d.txt", ".hidden/e.csv"}) {
    folder.write(name, "");
  }
  std::filesystem::create_directory_symlink(folder.path(), folder.file("x/loop"));
  EXPECT_THAT(match_files(folder.file("**/*.csv")),
              ElementsAre(folder.file("a.csv"), folder.file("x/b.csv"), folder.file("x/y/c.csv")));
  EXPECT_THAT(
      match_files(folder.file("x/**")),
      ElementsAre(folder.file("x/b.csv"), folder.file("x/y/c.csv"), folder.file("x/y/d.txt")));
  EXPECT_THAT(match_files(folder.file("**/y/**/*.csv")), ElementsAre(folder.file("x/y/c.csv")));
}

TEST(MatchFiles, many_stars_cost_no_more_than_their_number) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("a/a/a/a/a/a/a/a/a/a/a/a"));
  folder.write("a/a/a/x", "");
  std::string stars;
  for (int i = 0; i < 500; ++i) stars += "**/";
  EXPECT_THAT(match_files(folder.file(stars + "x")), ElementsAre(folder.file("a/a/a/x")));
  std::string apart;
  for (int i = 0; i < 12; ++i) apart += "**/a/";
  EXPECT_EQ(error_of([&] { match_files(folder.file(apart + "**/y")); }).code(),
            ErrorCode::not_found);
  EXPECT_THAT(error_of([&] { match_files(folder.file(std::string(20'000, '*'))); }).message(),
              AllOf(HasSubstr("a file pattern has "), HasSubstr(", but 16384 is the limit")));
  // Keys of a bucket are compared one by one.
  std::string key;
  for (int i = 0; i < 400; ++i) key += "a/";
  EXPECT_FALSE(detail::path_matches(apart + apart + "**/y", key + "x"));
  EXPECT_TRUE(detail::path_matches(apart + apart + "**/x", key + "x"));
  for (const auto& [pattern, path, matches] :
       std::vector<std::tuple<std::string, std::string, bool>>{{"**/x", "x", true},
                                                               {"**/x", "a/b/x", true},
                                                               {"**/x", ".a/x", false},
                                                               {"**/x", "a/.x", false},
                                                               {"**/.x", "a/.x", true},
                                                               {"a/**", "a", false},
                                                               {"a/**", "a/b/c", true},
                                                               {"a/**", "a/.b/c", false},
                                                               {"a/**/b/**/c", "a/b/c", true},
                                                               {"a/**/b/**/c", "a/x/b/y/b/c", true},
                                                               {"a/**/b/**/c", "a/x/y/c", false},
                                                               {"**/**", "a", true}}) {
    EXPECT_EQ(detail::path_matches(pattern, path), matches) << pattern << ' ' << path;
  }
}

TEST(MatchFiles, braces_are_a_list_in_its_order) {
  const TemporaryFolder folder;
  for (const char* name : {"t-008", "t-009", "t-010", "u-1", "u-{", "v{1}"}) folder.write(name, "");
  EXPECT_THAT(match_files(folder.file("t-{010..008}")),
              ElementsAre(folder.file("t-010"), folder.file("t-009"), folder.file("t-008")));
  EXPECT_THAT(match_files(folder.file("{u-1,t-{008,01?}}")),
              ElementsAre(folder.file("u-1"), folder.file("t-008"), folder.file("t-010")));
  EXPECT_THAT(match_files(folder.file("u-{*")), ElementsAre(folder.file("u-{")));
  EXPECT_THAT(match_files(folder.file("v{1}*")), ElementsAre(folder.file("v{1}")));
  EXPECT_THAT(error_of([&] { match_files(folder.file("t-{008..011}")); }).what(),
              HasSubstr("no file matches '" + folder.file("t-011") + "'"));
  EXPECT_THAT(error_of([&] { match_files(folder.file("t-{0..100000000}")); }).what(),
              HasSubstr("stand for more than 99999 names"));
  EXPECT_THAT(error_of([&] { match_files(folder.file("{0..999}{0..999}")); }).what(),
              HasSubstr("stand for more than 99999 names"));
}

TEST(MatchFiles, one_file_of_two_spellings_comes_once) {
  const TemporaryFolder folder;
  folder.write("x", "");
  const std::string other = folder.path().string() + "/./x";
  EXPECT_THAT(match_files({other, folder.file("x"), folder.file("*")}), ElementsAre(other));
}

TEST(MatchFiles, nothing_found_says_what_lies_there) {
  const TemporaryFolder folder;
  const std::string pattern = folder.file("train-*");
  const Error empty = error_of([&] { match_files(pattern); });
  EXPECT_EQ(empty.code(), ErrorCode::not_found);
  EXPECT_EQ(empty.message(),
            "no file matches '" + pattern + "': folder '" + folder.path().string() + "' is empty");
  const auto found_with = [&](const std::string& name) {
    folder.write(name, "");
    return error_of([&] { match_files(pattern); }).message();
  };
  EXPECT_THAT(found_with("test-0"), HasSubstr("' holds 1 other entry: 'test-0'"));
  EXPECT_THAT(found_with("test-1"), HasSubstr("' holds 2 other entries: 'test-0', 'test-1'"));
  EXPECT_THAT(found_with("test-2"), EndsWith("entries: 'test-0', 'test-1', 'test-2'"));
  EXPECT_EQ(found_with("test-3"), "no file matches '" + pattern + "': folder '" +
                                      folder.path().string() +
                                      "' holds 4 other entries: 'test-0', 'test-1', 'test-2', ...");
  EXPECT_THAT(error_of([&] { match_files(folder.file("no/*")); }).what(),
              HasSubstr("folder '" + folder.file("no") + "' does not exist"));
  EXPECT_THAT(error_of([&] { match_files(folder.file("nothing")); }).what(),
              HasSubstr("holds 4 other entries"));
  EXPECT_EQ(error_of([&] { match_files(""); }).message(), "the file pattern is empty");
  std::filesystem::create_directory(folder.file("a"));
  EXPECT_THAT(error_of([&] { match_files(pattern); }).message(),
              HasSubstr("holds 5 other entries: 'a/', 'test-0', 'test-1', ..."));
  EXPECT_THAT(error_of([&] { match_files("no-such-file-*"); }).message(), HasSubstr("folder '.' "));
}

TEST(MatchFiles, a_pattern_has_so_many_bytes) {
  const std::string longest(16'384, 'x');
  EXPECT_EQ(error_of([&] { match_files(longest); }).message(),
            "cannot look up: the name is too long");
  EXPECT_EQ(error_of([&] { match_files(longest + "x"); }).message(),
            "a file pattern has 16385 bytes, but 16384 is the limit: '" + longest.substr(0, 100) +
                "...'");
}

TEST(MatchFiles, folders_are_not_files) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("data"));
  EXPECT_THAT(error_of([&] { match_files(folder.file("data")); }).what(),
              HasSubstr("it is a folder; name the files in it, e.g. with '/*.tfrecord'"));
  EXPECT_THAT(error_of([&] { match_files(folder.file("d*")); }).what(),
              HasSubstr("only folders match"));
  const auto file = folder.write("file", "");
  EXPECT_THAT(error_of([&] { match_files(file + "/x"); }).what(),
              HasSubstr("a part of the path is a file"));
}

TEST(ShardName, goes_both_ways) {
  EXPECT_EQ(shard_name("d/train", {.count = 16, .index = 3}), "d/train-00003-of-00016.tfrecord");
  EXPECT_EQ(shard_name("t", {.count = 1'000'000, .index = 123'456}, ""), "t-123456-of-1000000");
  const auto name = parse_shard_name("a-of-b/my-train-00003-of-00016.tfrecord.gz");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->prefix, "a-of-b/my-train");
  EXPECT_EQ(name->shard, (Shard{16, 3}));
  EXPECT_EQ(name->extension, "tfrecord.gz");
  EXPECT_EQ(parse_shard_name("t-00016-of-00016")->shard, (Shard{16, 16})) << "it counts from 1";
  EXPECT_EQ(parse_shard_name("-00001-of-00002")->prefix, "");
  EXPECT_EQ(parse_shard_name("d/-00001-of-00002")->prefix, "d/");
  EXPECT_EQ(parse_shard_name("t-00001-of-00002.")->extension, "");
  for (const char* other :
       {"", "-of-", "train", "train-3-of-16", "train-00000-of-00000", "train-0000x-of-00016",
        "00003-of-00016", "a-00001-of-00002/b", "t-0001-of-00002", "t-00001-of-0002",
        "t-00001-of-00002x", "t-99999999999-of-99999999999", "a-00001/-of-00002", "-of-00002",
        "/-of-00002", "x-of-00002", "a-00001--of-00002"}) {
    EXPECT_FALSE(parse_shard_name(other)) << other;
  }
  const Error error = error_of([] { shard_name("t", {.count = 2, .index = 2}); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(), "shard 2 of 2 does not exist; they count from 0");
}

/// Nobody waits for a pipe's other end.
TEST(ReadFile, OnlyRegularFilesAreRead) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  for (const auto& file : {std::pair(folder.file("pipe"), "a pipe"), {"/dev/zero", "a device"}}) {
    const auto& [name, kind] = file;
    for (const Error& error : {error_of([&] { read_file(file.first); }),
                               error_of([&] { File::open_to_read(file.first); })}) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_EQ(error.file(), name);
      EXPECT_EQ(error.message(),
                fmt::format("this is no regular file ({}), which is not read here", kind));
    }
  }
  EXPECT_EQ(error_of([&] { File::open_to_read(folder.path()); }).message(),
            error_of([&] { File::open_stream(folder.path()); }).message());
}

TEST(ReadFile, AStreamIsReadToItsEnd) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::jthread writer([&] { File::open(pipe, O_WRONLY).write("some text"); });
  EXPECT_EQ(read_stream(pipe), "some text");
  EXPECT_EQ(read_stream(folder.write("file", "more")), "more");
  EXPECT_EQ(read_stream("/dev/null"), "");
}

TEST(ReadFile, AStopEndsWaitingForAPipe) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::stop_source stop;
  int writer = -1;  // which says nothing
  std::thread stopper([&] {
    while (writer < 0) {
      std::this_thread::yield();
      writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK);
    }
    stop.request_stop();
  });
  const Error silent = error_of([&] { read_stream(pipe, stop.get_token()); });
  EXPECT_EQ(silent.code(), ErrorCode::cancelled);
  EXPECT_EQ(silent.file(), pipe);
  stopper.join();
  ::close(writer);
  // Nobody opens it for writing, for which the open would wait.
  EXPECT_EQ(error_of([&] { read_stream(pipe, stop.get_token()); }).code(), ErrorCode::cancelled);
}

/// A file server holds a lease while a client has the file open. Opens that don't wait were refused.
TEST(ReadFile, ALeaseIsWaitedFor) {
  const TemporaryFolder folder;
  const std::string name = folder.write("file", "text");
  for (const auto open : {&File::open_stream, &File::open_to_read}) {
    const File held = File::open(name, O_RDWR);
    ASSERT_EQ(::fcntl(held.descriptor(), F_SETSIG, SIGURG), 0);  // which nobody minds
    ASSERT_EQ(::fcntl(held.descriptor(), F_SETLEASE, F_WRLCK), 0);
    const std::jthread holder([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && ::fcntl(held.descriptor(), F_GETLEASE) == F_WRLCK) {
        std::this_thread::yield();
      }
      ::fcntl(held.descriptor(), F_SETLEASE, F_UNLCK);
    });
    EXPECT_EQ(read_file(open(name)), "text");
  }
}

/// Others may have put the file, and the lease, at a name that we derive.
TEST(OpenOwn, WaitsForNoLease) {
  const TemporaryFolder folder;
  const std::string name = folder.write("file", "text");
  const File held = File::open(name, O_RDWR);
  ASSERT_EQ(::fcntl(held.descriptor(), F_SETSIG, SIGURG), 0);
  ASSERT_EQ(::fcntl(held.descriptor(), F_SETLEASE, F_WRLCK), 0);
  EXPECT_EQ(error_of([&] { File::open_own(name, O_RDONLY); }).code(), ErrorCode::unavailable);
}

TEST(ReadFile, OnlyAPipeIsReadWithoutWaitingInTheSystem) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto never_waits = [](const std::string& name) {
    return (::fcntl(File::open_stream(name).descriptor(), F_GETFL) & O_NONBLOCK) != 0;
  };
  EXPECT_TRUE(never_waits(pipe));
  EXPECT_FALSE(never_waits("/dev/zero"));
}

}  // namespace
}  // namespace infeed

// Sanitizers replace the same function; clang doesn't say by a macro that it uses one.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)

namespace infeed {
namespace {

/// Bytes of a file that this thread can read; the sectors behind them are bad.
thread_local std::uint64_t good_bytes = UINT64_MAX;

}  // namespace
}  // namespace infeed

extern "C" ssize_t pread(int descriptor, void* into, std::size_t bytes, off_t offset) {
  const auto begin = static_cast<std::uint64_t>(offset);
  if (begin >= infeed::good_bytes) {
    errno = EIO;
    return -1;
  }
  const std::uint64_t good = infeed::good_bytes - begin;
  return syscall(SYS_pread64, descriptor, into, std::min<std::uint64_t>(bytes, good), offset);
}

namespace infeed {
namespace {

TEST(ReadFile, AFileIsNeverItsFrontBeforeABadSector) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", std::string(100'000, 'x'));
  good_bytes = 60'000;
  const Error error = error_of([&] { read_file(file); });
  good_bytes = UINT64_MAX;
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.offset(), 60'000);
  EXPECT_THAT(error.message(), HasSubstr("input/output error"));
  EXPECT_EQ(read_file(file).size(), 100'000);
}

TEST(File, FewerBytesAreTheEndOfTheFileAndNoBadSector) {
  const TemporaryFolder folder;
  const File file = File::open_to_read(folder.write("file", std::string(100'000, 'x')));
  std::string into(90'000, '\0');
  good_bytes = 60'000;
  const Error error = error_of([&] { file.read_at(0, into); });
  const std::size_t front = file.read_before_error(0, into);
  good_bytes = UINT64_MAX;
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.offset(), 60'000);
  EXPECT_EQ(front, 60'000U);
  EXPECT_EQ(file.read_at(0, into), 90'000U);
  EXPECT_EQ(file.read_at(20'000, into), 80'000U);
}

}  // namespace
}  // namespace infeed

#endif
