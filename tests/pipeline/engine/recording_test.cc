#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <infeed/infeed.h>

#include "records/temporary_files.h"

namespace infeed::test {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

std::vector<Json> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<Json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

/// Returns the members of this name in all lines.
std::vector<Json> all_of(const std::vector<Json>& lines, const char* name) {
  std::vector<Json> found;
  for (const Json& line : lines) {
    if (line.contains(name)) found.push_back(line.at(name));
  }
  return found;
}

class Recording : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string file_ = folder_.file("run.profile");
};

TEST_F(Recording, HoldsStagesWindowsStepsAndAnEnd) {
  auto iterator =
      (range(1000) | map([](std::int64_t x) { return x + 1; }, {.name = "add"}) | batch(10))
          .iterate({.recording = {.file = file_}});
  EXPECT_TRUE(iterator.recording().is_on);
  EXPECT_EQ(iterator.recording().file, file_);
  StepTimer timer(iterator);
  while (iterator.next()) {
    timer.begin();
    timer.end();
  }
  const std::vector<Json> lines = lines_of(file_);
  EXPECT_EQ(lines.front().at("infeed_recording"), 1);
  EXPECT_EQ(lines.front().at("process"), ::getpid());
  const std::vector<Json> stages = all_of(lines, "stages");
  ASSERT_EQ(stages.size(), 1U);
  ASSERT_EQ(stages[0].size(), 3U);
  EXPECT_EQ(stages[0][1].at("label"), "map 'add'");
  std::uint64_t elements = 0;
  for (const Json& window : all_of(lines, "window")) elements += window.at("elements").get<int>();
  EXPECT_EQ(elements, 100U);
  std::size_t steps = 0;
  for (const char* kind : {"steps", "late_steps"}) {
    for (const Json& rows : all_of(lines, kind)) steps += rows.size();
  }
  EXPECT_EQ(steps, 100U);
  EXPECT_EQ(timer.steps(), 100U);
  EXPECT_NE(timer.summary().find("100 steps, "), std::string::npos) << timer.summary();
  EXPECT_EQ(lines.back().at("end").at("why"), "end of data");
  EXPECT_TRUE(iterator.recording().problem.empty());
}

TEST_F(Recording, StepsAddUp) {
  auto iterator = range(50).iterate({.recording = {.file = file_}});
  StepTimer timer(iterator);
  const auto begin = std::chrono::steady_clock::now();
  while (iterator.next()) {
    timer.begin();
    timer.end();
  }
  const auto all = timer.infeed_wait() + timer.compute() + timer.idle();
  EXPECT_LE(all, std::chrono::steady_clock::now() - begin + 1ms);
  std::vector<Json> steps;
  for (const char* kind : {"steps", "late_steps"}) {
    for (const Json& rows : all_of(lines_of(file_), kind)) {
      steps.insert(steps.end(), rows.begin(), rows.end());
    }
  }
  std::sort(steps.begin(), steps.end());  // by their numbers: any of them may be late
  std::uint64_t last_end = 0;
  for (const Json& step : steps) {
    EXPECT_GE(step[1].get<std::uint64_t>() + 1000, last_end);
    last_end = step[1].get<std::uint64_t>();
    for (std::size_t part = 2; part < 7; ++part) last_end += step[part].get<std::uint64_t>();
  }
  EXPECT_GT(last_end, 0U);
}

/// The first of them was recorded as a step as long as the whole run.
TEST_F(Recording, PullsBeforeTheTimerAreNoSteps) {
  auto iterator = range(50).iterate({.recording = {.file = file_}});
  ASSERT_TRUE(iterator.next());
  StepTimer timer(iterator);
  while (iterator.next()) {
    timer.begin();
    timer.end();
  }
  std::size_t steps = 0;
  for (const Json& line : lines_of(file_)) {
    for (const char* kind : {"steps", "late_steps"}) {
      if (!line.contains(kind)) continue;
      EXPECT_TRUE(line.at("measured").get<bool>());
      steps += line.at(kind).size();
    }
  }
  EXPECT_EQ(steps, timer.steps());
}

TEST_F(Recording, ATimerSaysWhereTheTimeOfItsStepsWent) {
  auto iterator = range(6).iterate({.recording = {.file = file_}});
  StepTimer timer(iterator);
  EXPECT_EQ(timer.summary(), "no steps");
  iterator.next();
  iterator.next();
  timer.begin("recompilation");
  timer.end();
  const auto idle = timer.idle();
  iterator.next();
  timer.end();
  EXPECT_EQ(timer.idle(), idle) << "without a begin() all but the wait is computing";
  timer.begin();
  timer.end();
  while (iterator.next()) {
  }
  const auto all = timer.infeed_wait() + timer.compute() + timer.idle();
  const auto percent = [all](std::chrono::nanoseconds part) {
    return 100.0 * static_cast<double>(part.count()) / static_cast<double>(all.count());
  };
  EXPECT_EQ(timer.summary(),
            fmt::format("3 steps, {:.3g} ms each: {:.1f} % computing, {:.1f} % waiting for input, "
                        "{:.1f} % idle",
                        static_cast<double>(all.count()) / 1e6 / 3.0, percent(timer.compute()),
                        percent(timer.infeed_wait()), percent(timer.idle())));
  const std::vector<Json> lines = lines_of(file_);
  std::vector<Json> steps;
  for (const Json& rows : all_of(lines, "steps")) {
    steps.insert(steps.end(), rows.begin(), rows.end());
  }
  ASSERT_EQ(steps.size(), 3U);
  const std::vector<Json> names = all_of(lines, "names");
  ASSERT_EQ(names.size(), 1U);
  EXPECT_EQ(names[0].size(), 1U);
  EXPECT_EQ(names[0].at("0"), "recompilation");
  std::array<std::int64_t, 8> sums{};
  auto last_end = steps[0][1].get<std::int64_t>();
  for (const Json& row : steps) {
    EXPECT_EQ(row[1], last_end) << "a step begins where the one before it ends";
    for (std::size_t part = 0; part < sums.size(); ++part) {
      const auto value = row[part].get<std::int64_t>();
      sums[part] += value;
      if (part >= 2 && part < 7) last_end += value;
    }
  }
  EXPECT_EQ(sums[0], 0 + 1 + 2);
  EXPECT_EQ(sums[2], timer.infeed_wait().count());
  EXPECT_EQ(sums[4], timer.compute().count());
  EXPECT_EQ(sums[6], timer.idle().count());
  EXPECT_EQ(steps[0][7], 2);
  EXPECT_EQ(steps[1][7], 1);
  EXPECT_EQ(steps[2][7], 0);
}

TEST_F(Recording, WithoutATimerPullsAreRowsAndWindowsFollowEachOther) {
  auto iterator = (range(1000) | batch(10)).iterate({.recording = {.file = file_}});
  while (iterator.next()) {
  }
  const std::vector<Json> lines = lines_of(file_);
  std::uint64_t elements = 0;
  for (const Json& line : lines) {
    for (const char* kind : {"steps", "late_steps"}) {
      if (!line.contains(kind)) continue;
      EXPECT_FALSE(line.at("measured").get<bool>());
      for (const Json& row : line.at(kind)) elements += row[7].get<std::uint64_t>();
    }
  }
  EXPECT_EQ(elements, 100U);
  std::uint64_t last_end = 0;
  for (const Json& window : all_of(lines, "window")) {
    EXPECT_EQ(window.at("begin_ns"), last_end);
    last_end += window.at("length_ns").get<std::uint64_t>();
    EXPECT_EQ(window.at("memory_refusals"), 0);
  }
  EXPECT_GE(lines.back().at("end").at("at_ns"), last_end);
  EXPECT_EQ(lines.back().at("end").at("dropped_events"), 0);
  EXPECT_NEAR(lines.front().at("slow_after_ns").get<int>(), 1'000'000, 1);
}

/// A pull brings several elements: three of sixteen were sixteen steps.
TEST_F(Recording, ElementsThatNobodyTakesAreNoSteps) {
  {
    auto iterator = (range(1000) | batch(10)).iterate({.recording = {.file = file_}});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(iterator.next());
  }
  const std::vector<Json> rows = all_of(lines_of(file_), "steps");
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_EQ(rows[0].size(), 1U);
  EXPECT_EQ(rows[0][0][7], 3);
}

TEST_F(Recording, ItsEndSaysWhyTheRunEnded) {
  const auto options = [&](const char* name) {
    return IterateOptions{.recording = {.file = folder_.file(name)}};
  };
  const auto why = [&](const char* name) {
    return lines_of(folder_.file(name)).back().at("end").at("why").get<std::string>();
  };
  range(5000).iterate(options("dropped")).next();
  EXPECT_EQ(why("dropped"), "iterator destroyed");
  auto cancelled = range(5000).iterate(options("cancelled"));
  cancelled.cancel();
  EXPECT_THROW(cancelled.next(), Error);
  EXPECT_EQ(why("cancelled"), "cancelled: the iterator was cancelled after 0 elements");
  auto late = range(2).iterate(options("late"));
  late.core_for_timer().expect_steps(true);
  while (late.next()) {
  }
  late.record_step({.compute = 1ms});
  late = {};
  EXPECT_EQ(why("late"), "end of data");
  EXPECT_EQ(all_of(lines_of(folder_.file("late")), "steps").at(0).size(), 1U)
      << "one that ended behind the data";
}

TEST_F(Recording, ASlowCallIsTracedToItsElement) {
  auto slow = [](std::int64_t x) {
    if (x == 77) std::this_thread::sleep_for(5ms);  // the slow call is under test
    return x;
  };
  for (const auto& _ : (range(100) | map(slow)).iterate({.recording = {.file = file_}})) (void)_;
  const std::vector<Json> slow_calls = all_of(lines_of(file_), "outlier");
  // Another one may be slow because the core was taken away.
  const auto found = std::find_if(slow_calls.begin(), slow_calls.end(), [](const Json& call) {
    const int begin = call.at("position").get<int>();
    return begin <= 77 && begin + call.at("count").get<int>() > 77 &&
           call.at("took_ns") >= 5'000'000 && call.at("cpu_ns") <= 2'500'000;
  });
  ASSERT_NE(found, slow_calls.end()) << Json(slow_calls);
  const Json& call = *found;
  EXPECT_NE(call.at("untraceable").get<std::string>().find("range"), std::string::npos);
}

TEST_F(Recording, OrderAndValuesAreTheSame) {
  const auto numbers = slices(std::vector<std::int64_t>{10, 20, 30, 40}) |
                       interleave([](std::int64_t n) { return range(n); },
                                  {.cycle_length = 3, .block_length = 2, .parallelism = 2}) |
                       filter([](std::int64_t x) { return x % 3 != 0; }) |
                       map([](std::int64_t x) { return 2 * x; }, {.parallelism = 2}) |
                       shuffle({.buffer = 16, .seed = 3}) | batch(7) | prefetch();
  auto plain = numbers.iterate({.epoch = 0, .order_hash = true});
  auto recorded = numbers.iterate({.epoch = 0, .recording = {.file = file_}, .order_hash = true});
  while (plain.next()) {
  }
  while (recorded.next()) {
  }
  EXPECT_EQ(plain.order_hash(), recorded.order_hash());
  EXPECT_EQ(plain.position(), recorded.position());
}

TEST_F(Recording, TheEnvironmentAsksForIt) {
  ::setenv("INFEED_PROFILE", file_.c_str(), 1);
  auto first = range(3).iterate();
  auto second = range(4).iterate();
  ::unsetenv("INFEED_PROFILE");
  while (first.next()) {
  }
  while (second.next()) {
  }
  EXPECT_EQ(first.recording().file, file_);
  EXPECT_EQ(second.recording().file, file_ + "-2");
  EXPECT_EQ(lines_of(file_ + "-2").back().at("end").at("why"), "end of data");
}

/// Lowers a limit of this process while the object lives.
class LimitedProcess {
 public:
  LimitedProcess(int which, rlim_t limit) : which_(which) {
    EXPECT_EQ(::getrlimit(which_, &before_), 0);
    const rlimit lower{.rlim_cur = limit, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(which_, &lower), 0);
  }
  ~LimitedProcess() {
    EXPECT_EQ(::setrlimit(which_, &before_), 0);
    std::signal(SIGXFSZ, signal_before_);
  }
  LimitedProcess(const LimitedProcess&) = delete;
  LimitedProcess& operator=(const LimitedProcess&) = delete;

 private:
  const int which_;
  rlimit before_{};
  void (*const signal_before_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

/// Takes elements of an endless dataset until its recording is as wanted, or a minute has passed.
template <class Wanted>
void run_until(Iterator<std::int64_t>& iterator, const Wanted& is_wanted) {
  const auto latest = std::chrono::steady_clock::now() + 60s;
  while (!is_wanted(iterator.recording()) && std::chrono::steady_clock::now() < latest) {
    iterator.next();
  }
}

bool has_problem(const RecordingStatus& status) { return !status.problem.empty(); }

TEST_F(Recording, WhatEndsItIsInTheTableOfStatistics) {
  auto iterator = range(10).iterate({.recording = {.file = file_}});
  EXPECT_EQ(iterator.statistics().table().find("recording failed"), std::string::npos);
  int elements = 0;
  {
    const LimitedProcess header_only(RLIMIT_FSIZE, std::filesystem::file_size(file_));
    while (iterator.next()) ++elements;
  }
  EXPECT_EQ(elements, 10);
  const std::string problem = iterator.recording().problem;
  EXPECT_NE(problem.find("cannot write"), std::string::npos) << problem;
  EXPECT_EQ(iterator.recording().file, "") << "none is written any more";
  const std::string table = iterator.statistics().table();
  EXPECT_NE(table.find("\nrecording failed: " + problem + "\n"), std::string::npos) << table;
}

/// A run that could no longer be shown said so nowhere.
TEST_F(Recording, WhatEndsThePageIsInTheTableOfStatistics) {
  if (::access("/dev/shm", W_OK) != 0) return;  // a machine without pages
  auto iterator = range(std::int64_t{1} << 40).iterate({.recording = {.live = true}});
  {
    const LimitedProcess writes_nothing(RLIMIT_FSIZE, 0);
    run_until(iterator, has_problem);
  }
  const std::string problem = iterator.recording().problem;
  EXPECT_NE(problem.find("/dev/shm/infeed-"), std::string::npos) << problem;
  const std::string table = iterator.statistics().table();
  EXPECT_NE(table.find("\nrecording failed: " + problem + "\n"), std::string::npos) << table;
}

/// A run that can no longer be shown is recorded nevertheless. A later problem of its file was told
/// by nobody.
TEST_F(Recording, OnlyAProblemOfTheFileEndsIt) {
  if (::access("/dev/shm", W_OK) != 0) return;  // a machine without pages
  auto iterator =
      range(std::int64_t{1} << 40).iterate({.recording = {.file = file_, .live = true}});
  {
    const LimitedProcess opens_no_more(RLIMIT_NOFILE, 3);
    run_until(iterator, has_problem);
  }
  RecordingStatus status = iterator.recording();
  EXPECT_NE(status.problem.find("/dev/shm/infeed-"), std::string::npos) << status.problem;
  EXPECT_EQ(status.file, file_);
  {
    const LimitedProcess writes_no_more(RLIMIT_FSIZE, 0);
    run_until(iterator, [](const RecordingStatus& now) { return now.file.empty(); });
  }
  status = iterator.recording();
  EXPECT_EQ(status.file, "");
  EXPECT_NE(status.problem.find(file_), std::string::npos) << status.problem;
}

TEST_F(Recording, GrowsNoFurtherThanItMay) {
  auto iterator = range(40'000).iterate(
      {.recording = {.file = file_, .slow_after = 10us, .bytes_max = 100'000}});
  StepTimer timer(iterator);
  while (iterator.next()) {
    timer.begin();
    timer.end();
    if (timer.steps() % 2000 == 0) std::this_thread::sleep_for(110ms);  // a window more
  }
  std::ifstream in(file_, std::ios::ate);
  EXPECT_LT(in.tellg(), 1'000'000);
  const std::vector<Json> lines = lines_of(file_);
  EXPECT_EQ(lines.front().at("infeed_recording"), 1);
  EXPECT_EQ(all_of(lines, "stages").size(), 1U);
  EXPECT_TRUE(lines.back().contains("end"));
}

}  // namespace
}  // namespace infeed::test
