#include "engine/recording/recorded_lines.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <infeed/pipeline/range.h>

#include "engine/iterator_context.h"
#include "engine/recording/recorded_steps.h"
#include "engine/threads/clock.h"
#include "matchers.h"
#include "pipeline/suite/test_sources.h"
#include "records/temporary_files.h"

// The lines of a recording, byte by byte; `infeed profile` reads those of older programs, too.
namespace infeed::test {
namespace {

using namespace std::chrono_literals;

TEST(RecordedLines, AnyBytesAreTextInJson) {
  EXPECT_EQ(detail::json_text(""), R"("")");
  EXPECT_EQ(detail::json_text("a \"b\"\\c\n\x1f~"), R"("a \"b\"\\c\u000a\u001f~")");
  EXPECT_EQ(detail::json_text("\xff"), R"("\\xff")");
}

TEST(RecordedLines, OfSteps) {
  const std::vector<detail::RecordedStepRow> rows = {{1, 2, 3, 4, 5, 6, 7, 8, "first"},
                                                     {11, 12, 13, 14, 15, 16, 17, 18, ""},
                                                     {21, 22, 23, 24, 25, 26, 27, 28, "third"}};
  EXPECT_EQ(rows[0].length_ns(), 3 + 4 + 5 + 6 + 7);
  EXPECT_EQ(detail::line_of_steps("late_steps", rows, true),
            R"({"late_steps": [[1,2,3,4,5,6,7,8],[11,12,13,14,15,16,17,18],)"
            R"([21,22,23,24,25,26,27,28]], "measured": true, )"
            R"("names": {"1": "first", "21": "third"}})"
            "\n");
  EXPECT_EQ(detail::line_of_steps("steps", {rows[1]}, false),
            R"({"steps": [[11,12,13,14,15,16,17,18]], "measured": false})"
            "\n");
}

TEST(RecordedLines, OfASlowCall) {
  detail::RecordedSlowCall call;
  call.begin_ns = 1;
  call.took_ns = 2;
  call.cpu_ns = 3;
  call.preempted_ns = 4;
  call.position = 5;
  call.count = 6;
  call.pass = 7;
  call.thread = 8;
  const std::string begin =
      R"({"slow": {"begin_ns": 1, "took_ns": 2, "cpu_ns": 3, "preempted_ns": 4, "stage": 9, )"
      R"("position": 5, "count": 6, "pass": 7, "thread": 8)";
  const std::string label = "range[2]";
  call.traced = TracedPlace::unknown(label, "makes its elements itself");
  EXPECT_EQ(detail::line_of_slow_call("slow", call, 9),
            begin + R"(, "untraceable": "range[2] makes its elements itself"}})"
                    "\n");
  call.waited_in = "file";
  call.traced = {.place = RecordPlace{"a \"b\"", 10, 2}};
  const std::string traced =
      begin + R"(, "waited_in": "file", "file": "a \"b\"", "record": 10, "records": 2)";
  EXPECT_EQ(detail::line_of_slow_call("slow", call, 9), traced + "}}\n");
  call.traced.place->offset = 99;
  EXPECT_EQ(detail::line_of_slow_call("slow", call, 9), traced + ", \"offset\": 99}}\n");
}

/// Two stages with figures of their own, which the numbers 3 and 4 name.
struct TwoRecordedStages {
  TwoRecordedStages() {
    stages[0].name = "map";
    stages[0].label = stages[0].path = "map 'x'";
    stages[0].runs_ahead = true;
    stages[1].name = stages[1].label = "shuffle";
    stages[1].path = "map 'x' < shuffle";
    stages[1].consumer = 0;
    counters[1].draws = true;
    for (std::uint64_t i = 0; i < 2; ++i) {
      detail::StageCounters& own = counters[i];
      ids.emplace(&own, static_cast<int>(i) + 3);
      StageStatistics& figures = stages[i];
      figures.elements = 100 * i + 10;
      figures.bytes = 100 * i + 11;
      figures.wait_ns = 100 * i + 14;
      figures.full_ns = 100 * i + 15;
      figures.buffered_elements = 100 * i + 16;
      figures.buffered_bytes = 100 * i + 17;
      figures.queue_elements_max = 100 * i + 18;
      figures.parallelism = static_cast<int>(100 * i) + 19;
    }
    stages[1].cpu_ns = 112;
    stages[1].blocked_ns = 113;
  }

  std::vector<StageStatistics> stages = std::vector<StageStatistics>(2);
  std::array<detail::StageCounters, 2> counters;
  detail::StageIds ids;
};

TEST(RecordedLines, OfStages) {
  const TwoRecordedStages two;
  EXPECT_EQ(detail::line_of_stages(two.stages, {&two.counters[0], &two.counters[1]}, two.ids),
            R"({"stages": [{"id": 3, "name": "map", "label": "map 'x'", "path": "map 'x'", )"
            R"("consumer": -1, "inside": -1, "runs_ahead": true, "is_random": false}, )"
            R"({"id": 4, "name": "shuffle", "label": "shuffle", "path": "map 'x' < shuffle", )"
            R"("consumer": 3, "inside": -1, "runs_ahead": false, "is_random": true}]})"
            "\n");
}

TEST(RecordedLines, OfAWindow) {
  const TwoRecordedStages two;
  detail::Window window;
  window.begin_ns = 1;
  window.length_ns = 2;
  window.consumer_wait_ns = 3;
  window.process_cpu_ns = 4;
  window.cores = 1.5;
  window.cores_of_others = 0.25;
  window.memory_bytes = 6;
  window.memory_limit_bytes = 7;
  window.memory_refusals = 8;
  const std::string begin =
      R"("consumer_wait_ns": 3, "process_cpu_ns": 4, "throttled_ns": 5, "cores": 1.50, )"
      R"("cores_of_others": 0.25, "memory_bytes": 6, "memory_limit_bytes": 7, )"
      R"("memory_refusals": 8, "stages": [)";
  EXPECT_EQ(detail::line_of_window(window, 5, two.ids),
            R"({"window": {"begin_ns": 1, "length_ns": 2, "elements": 0, )" + begin + "]}}\n");
  for (std::size_t i = 0; i < 2; ++i) window.stages.push_back({&two.counters[i], two.stages[i]});
  // The elements are those of the stage that the consumer pulls.
  EXPECT_EQ(detail::line_of_window(window, 5, two.ids),
            R"({"window": {"begin_ns": 1, "length_ns": 2, "elements": 10, )" + begin +
                "[3,10,11,0,0,14,15,16,17,18,19],"
                "[4,110,111,112,113,114,115,116,117,118,119]]}}\n");
}

/// "2 steps, 1 late_steps": how many rows the lines have.
std::string kinds_of_rows(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    const auto json = nlohmann::json::parse(line);
    for (const char* const kind : {"steps", "late_steps"}) {
      if (!json.contains(kind)) continue;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", json.at(kind).size(), kind);
    }
  }
  return text;
}

class RecordedSteps : public ::testing::Test {
 protected:
  void note_steps(int count, std::chrono::nanoseconds length) {
    for (int i = 0; i < count; ++i) steps.note({.compute = length});
  }
  std::string kinds_of_rows() { return test::kinds_of_rows(steps.take_lines()); }

  const detail::RecordingClock clock{1000us};
  detail::RecordedSteps steps{clock};
};

TEST_F(RecordedSteps, ThatALoopTells) {
  EXPECT_THAT(steps.take_lines(), IsEmpty());
  steps.expect();
  steps.note({.infeed_wait = 1ns,
              .transfer = 2ns,
              .compute = 3ns,
              .all_reduce = 4ns,
              .idle = 5ns,
              .elements = 6,
              .name = "first"});
  // A clock that went back makes no step longer than any run.
  steps.note(
      {.infeed_wait = -1ns, .transfer = -1ns, .compute = -1ns, .all_reduce = -1ns, .idle = -1ns});
  steps.expect();
  EXPECT_THAT(steps.take_lines(),
              ElementsAre(R"({"steps": [[0,0,1,2,3,4,5,6],[1,0,0,0,0,0,0,1]], "measured": true, )"
                          R"("names": {"0": "first"}})"
                          "\n"));
  EXPECT_THAT(steps.take_lines(), IsEmpty());
  EXPECT_EQ(steps.dropped(), 0U);
}

TEST_F(RecordedSteps, ArePullsOfALoopThatTellsNone) {
  const std::uint64_t begin = detail::ticks_now();
  steps.note_pull({begin, 500}, 3);
  steps.note_pull({begin + 600, 700}, 4);
  steps.end_pulls(begin + 5000);
  steps.end_pulls(begin + 6000);
  steps.note_pull({begin + 7000, 9000}, 1);  // it waits longer than the row is
  steps.end_pulls(begin + 8000);
  const std::uint64_t row_ticks = detail::ticks_of_us(1000);
  steps.note_pull({begin + 9000, 0}, 2);
  steps.note_pull({begin + 9000 + row_ticks, 0}, 5);
  steps.end_pulls(begin + 9000 + row_ticks);
  EXPECT_THAT(steps.take_lines(),
              ElementsAre(fmt::format(
                  "{{\"steps\": [[0,{},{},0,{},0,0,7],[7,{},{},0,0,0,0,1],[8,{},0,0,{},0,0,2],"
                  "[10,{},0,0,0,0,0,5]], \"measured\": false}}\n",
                  clock.ns_at(begin), clock.ns_of(1200), clock.ns_of(3800),
                  clock.ns_at(begin + 7000), clock.ns_of(9000), clock.ns_at(begin + 9000),
                  clock.ns_of(row_ticks), clock.ns_at(begin + 9000 + row_ticks))));
}

TEST_F(RecordedSteps, AreNoPullsOnceALoopTellsThem) {
  const std::uint64_t begin = detail::ticks_now();
  steps.note_pull({begin, 10}, 1);
  steps.end_pulls(begin + 100);
  steps.note_pull({begin + 200, 10}, 1);
  steps.expect();
  steps.end_pulls(begin + 300);
  steps.note_pull({begin + 400, 10}, 1);
  steps.end_pulls(begin + 500);
  EXPECT_THAT(steps.take_lines(), IsEmpty());
  steps.note({});  // which is the loop's first step
  EXPECT_THAT(steps.take_lines(),
              ElementsAre("{\"steps\": [[0,0,0,0,0,0,0,1]], \"measured\": true}\n"));
}

TEST_F(RecordedSteps, AreLateIfTheyTakeHalfAsLongAgainAsTheMedian) {
  note_steps(8, 10ms);
  note_steps(7, 20ms);
  EXPECT_EQ(kinds_of_rows(), "15 steps");
  note_steps(1, 20s);
  EXPECT_EQ(kinds_of_rows(), "1 steps") << "15 steps are too few to judge by";
  note_steps(1, 30ms);
  note_steps(1, 30'000'001ns);
  EXPECT_EQ(kinds_of_rows(), "1 steps, 1 late_steps");
}

TEST_F(RecordedSteps, AreNotLateByLessThanASlowCall) {
  note_steps(16, 100ns);
  steps.take_lines();
  note_steps(2, 900us);
  note_steps(3, 1200us);
  EXPECT_EQ(kinds_of_rows(), "2 steps, 3 late_steps");
}

TEST_F(RecordedSteps, AreJudgedByTheLast256) {
  note_steps(256, 1s);
  EXPECT_EQ(kinds_of_rows(), "256 steps");
  note_steps(256, 10ms);
  EXPECT_EQ(kinds_of_rows(), "256 steps");
  note_steps(1, 16ms);
  EXPECT_EQ(kinds_of_rows(), "1 late_steps");
}

TEST_F(RecordedSteps, AreJudgedByTheLast256WhateverTheirNumbers) {
  std::uint64_t now = detail::ticks_now();
  const auto note_pulls = [&](int count, double us) {
    for (int i = 0; i < count; ++i) {
      steps.note_pull({now, 0}, 256);
      now += detail::ticks_of_us(us);
    }
    steps.end_pulls(now);
    return kinds_of_rows();
  };
  EXPECT_EQ(note_pulls(256, 1001), "256 steps");
  EXPECT_EQ(note_pulls(256, 10'000), "256 late_steps");
  EXPECT_EQ(note_pulls(256, 10'000), "256 steps");
}

TEST_F(RecordedSteps, ThatNobodyWritesInTimeAreCounted) {
  note_steps(8192, 1ns);
  EXPECT_EQ(steps.dropped(), 0U);
  note_steps(1, 1ns);
  EXPECT_EQ(steps.dropped(), 1U);
  EXPECT_EQ(kinds_of_rows(), "8192 steps");
  note_steps(1, 1ns);
  EXPECT_EQ(kinds_of_rows(), "1 steps");
  EXPECT_EQ(steps.dropped(), 1U);
}

/// A recorder that no iterator drives, and its only stage.
class RecorderAlone {
 public:
  void note_slow(std::uint64_t took_us, std::uint64_t position) {
    run_.recorder()->note_slow(stage_, {detail::ticks_now(), detail::ticks_of_us(double(took_us))},
                               {.pass = 1, .position = position, .count = 3},
                               TracedPlace::unknown("nobody knows"));
  }
  detail::StageCounters& stage() { return stage_; }
  detail::Recorder& recorder() { return *run_.recorder(); }
  /// Returns the members of this name in all lines that were written.
  std::vector<nlohmann::json> written(const char* name) const {
    std::vector<nlohmann::json> found;
    std::ifstream file(name_);
    for (std::string line; std::getline(file, line);) {
      const auto json = nlohmann::json::parse(line);
      if (json.contains(name)) found.push_back(json.at(name));
    }
    return found;
  }

 private:
  const TemporaryFolder folder_;
  const std::string name_ = folder_.file("run.profile");
  const Dataset<std::int64_t> dataset_ = range(3);
  IteratorContext run_{IterateOptions{.recording = {.file = name_}}};
  detail::StageCounters& stage_ = run_.counters().of_stage(*dataset_.node(), nullptr, 0);
};

/// A call is one if it takes four times as long as half of the stage's calls, whose times are known
/// as powers of two.
TEST(RecordedCalls, AreOutliersByWhatTheirStageUsuallyTakes) {
  using Calls = std::vector<std::pair<std::size_t, std::uint32_t>>;  // by log2 of the nanoseconds
  const Calls even = {{16, 10}};
  const Calls mixed = {{10, 4}, {16, 1}, {20, 5}};
  for (const auto& [calls, took_us, kind] :
       {std::tuple(even, 500, "slow"), std::tuple(even, 600, "outlier"),
        std::tuple(mixed, 500, "slow"), std::tuple(mixed, 600, "outlier"),
        std::tuple(Calls(), 500, "outlier")}) {
    SCOPED_TRACE(fmt::format("{} kinds of calls, {} us", calls.size(), took_us));
    RecorderAlone alone;
    for (const auto& [log2_ns, count] : calls) alone.stage().calls_by_log2_ns[log2_ns] = count;
    alone.note_slow(static_cast<std::uint64_t>(took_us), 20);
    alone.recorder().finish("over");
    const auto found = alone.written(kind);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(alone.written("slow").size() + alone.written("outlier").size(), 1U);
    EXPECT_EQ(found[0].at("stage"), 0);
    EXPECT_EQ(found[0].at("pass"), 1);
    EXPECT_EQ(found[0].at("position"), 20);
    EXPECT_EQ(found[0].at("count"), 3);
    EXPECT_EQ(found[0].at("untraceable"), "nobody knows");
    const std::uint64_t took_ticks = detail::ticks_of_us(took_us);
    EXPECT_EQ(found[0].at("took_ns"), alone.recorder().clock().ns_of(took_ticks));
    const auto histograms = alone.written("histogram");
    ASSERT_EQ(histograms.size(), 1U);
    EXPECT_EQ(histograms[0].at("stage"), 0);
    std::vector<std::uint32_t> counts(40);
    for (const auto& [log2_ns, count] : calls) counts[log2_ns] = count;
    EXPECT_EQ(histograms[0].at("calls_by_log2_ns"), nlohmann::json(counts));
  }
}

TEST(RecordedCalls, ThatAreTooManyAreCounted) {
  RecorderAlone alone;
  for (std::uint64_t i = 0; i < 513; ++i) alone.note_slow(100, i);
  alone.recorder().note_tuning("a \"change\"");
  alone.recorder().finish("over");
  alone.recorder().finish("once more");
  const auto calls = alone.written("outlier");
  ASSERT_EQ(calls.size(), 512U);
  EXPECT_EQ(calls.front().at("position"), 0);
  EXPECT_EQ(calls.back().at("position"), 511);
  const auto tuning = alone.written("tuning");
  ASSERT_EQ(tuning.size(), 1U);
  EXPECT_EQ(tuning[0].at("text"), "a \"change\"");
  const auto ends = alone.written("end");
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].at("why"), "over");
  EXPECT_EQ(ends[0].at("dropped_events"), 1);
  EXPECT_EQ(alone.recorder().status().problem, "");
}

/// One in 32 counts for 32, evenly spread over all.
TEST(RecordedCalls, AreSampledIfTheyAreBrief) {
  const TemporaryFolder folder;
  const std::string name = folder.file("run.profile");
  auto iterator = listed<std::int64_t>(plain_slots(3200), {.kind = Cut::Kind::single})
                      .iterate({.recording = {.file = name}});
  while (iterator.next()) {
  }
  std::uint64_t calls = 0;
  std::ifstream file(name);
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    if (!json.contains("histogram")) continue;
    calls = 0;  // a later one has all of the calls
    for (const auto& count : json.at("histogram").at("calls_by_log2_ns")) {
      calls += count.get<std::uint64_t>();
    }
  }
  EXPECT_NEAR(static_cast<double>(calls), 3201, 320);
}

}  // namespace
}  // namespace infeed::test
