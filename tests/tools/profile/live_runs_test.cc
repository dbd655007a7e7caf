#include "profile/live_runs.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <infeed/infeed.h>

#include "temporary_folder.h"
#include "thrown_error.h"
#include "tools/run_program.h"

/// Runs of processes that go on, which `infeed top` shows.
namespace infeed::tools {
namespace {

using Json = nlohmann::json;

std::string why_not_shown(std::int64_t process) {
  return error_of([&] { (void)(live_runs(process)); }).what();
}

TEST(LiveRuns, AreOfAProcess) {
  int begun[2];
  int end[2];
  ASSERT_EQ(::pipe(begun), 0);
  ASSERT_EQ(::pipe(end), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto iterator = range(1'000'000'000'000).iterate({.recording = {.live = true}});
    bool has_told = false;
    while (iterator.next()) {
      const std::string page = fmt::format("/dev/shm/infeed-{}.", ::getpid());
      if (has_told || iterator.position() % 100'000 != 0) continue;
      for (int number = 1; number < 20 && !has_told; ++number) {
        if (::access(fmt::format("{}{}", page, number).c_str(), R_OK) != 0) continue;
        has_told = true;
        (void)!::write(begun[1], "x", 1);
        char byte = 0;
        (void)!::read(end[0], &byte, 1);
        iterator = {};  // takes its page away
        ::_exit(0);
      }
    }
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(begun[0], &byte, 1), 1);
  const auto ended = test::run_infeed({"top", std::to_string(child), "--once", "--json"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(Json::parse(ended.out).size(), 1U);
  ASSERT_EQ(::write(end[1], &byte, 1), 1);
  ::waitpid(child, nullptr, 0);
  EXPECT_THAT(why_not_shown(child), HasSubstr("there is no process"));
  EXPECT_THAT(why_not_shown(::getpid()), HasSubstr("shows nothing: start it with INFEED_TOP=1"));
  EXPECT_THAT(why_not_shown((std::int64_t{1} << 32) + 1),
              HasSubstr("there is no process 4294967297"));
}

/// It was shown as this process's own.
TEST(LiveRuns, APageThatAKilledProcessOfTheSameNumberHasLeftIsNoRun) {
  if (::access("/dev/shm", W_OK) != 0) return;  // a machine without pages
  const std::string page = fmt::format("/dev/shm/infeed-{}.987654321", ::getpid());
  write_whole(page, fmt::format(R"({{"infeed_recording": 1, "process": {}, "process_start": 1, )"
                                R"("program": "train", "host": "host", "started_unix_s": 1.5, )"
                                R"("slow_after_ns": 1000000}})"
                                "\n"
                                R"({{"stages": [{{"id": 0, "name": "range", "label": "range", )"
                                R"("path": "range", "consumer": -1, "inside": -1, )"
                                R"("runs_ahead": false, "is_random": false}}]}})"
                                "\n",
                                ::getpid()));
  EXPECT_THAT(why_not_shown(::getpid()), HasSubstr("shows nothing"));
  fs::remove(page);
}

/// Things that anybody may put into /dev/shm: links, folders at the names of pages, other users' files.
class PlantedPages {
 public:
  PlantedPages() {
    for (int number = 1; number <= kPages; ++number) {
      fs::create_directory(name(number));
      fs::create_directory(name(number) + ".next");
    }
    fs::create_symlink("/etc/passwd", name(kPages + 1));
    write_whole(name(kPages + 2), "no page\n");
    if (::geteuid() == 0) {
      (void)!::chown(name(kPages + 2).c_str(), 12345, 12345);
    } else {
      fs::remove(name(kPages + 2));
    }
  }
  ~PlantedPages() {
    for (int number = 1; number <= kPages + 2; ++number) {
      std::error_code ignored;
      fs::remove(name(number), ignored);
      fs::remove(name(number) + ".next", ignored);
    }
  }

 private:
  static constexpr int kPages = 200;  // more than this process has shown
  static std::string name(int number) {
    return fmt::format("/dev/shm/infeed-{}.{}", ::getpid(), number);
  }
};

TEST(LiveRuns, NeighboursNeitherHideARunNorStopALook) {
  const PlantedPages planted;
  auto iterator = range(std::int64_t{1} << 40).iterate({.recording = {.live = true}});
  std::vector<RecordedRun> runs;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (runs.empty() && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100'000; ++i) iterator.next();
    try {
      runs = live_runs(::getpid());
    } catch (const Error& error) {  // it shows nothing yet
      ASSERT_EQ(error.code(), ErrorCode::failed_precondition) << error.what();
    }
  }
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].process, ::getpid());
}

}  // namespace
}  // namespace infeed::tools
