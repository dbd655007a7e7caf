#include <algorithm>
#include <fmt/format.h>
#include <regex>
#include <span>
#include <sstream>
#include <string_view>

#include <infeed/infeed.h>

#include "engine/stage_counters.h"
#include "engine/threads/clock.h"
#include "matchers.h"
#include "pipeline/suite/busy.h"
#include "quiet_run.h"
#include "temporary_folder.h"

namespace infeed::test {
namespace {

/// Does some thousand dependent steps: tens of microseconds on any machine.
std::int64_t compute(std::int64_t x) {
  auto bits = static_cast<std::uint64_t>(x);
  for (int i = 0; i < 20'000; ++i) bits = bits * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<std::int64_t>(bits >> 1);
}

template <class T>
PipelineStatistics run(Iterator<T>& iterator) {
  while (iterator.next()) {
  }
  return iterator.statistics();
}

template <class T>
PipelineStatistics run(const Dataset<T>& dataset, IterateOptions options = {}) {
  auto iterator = dataset.iterate(std::move(options));
  return run(iterator);
}

const StageStatistics& find(const PipelineStatistics& statistics, const std::string& label) {
  static const StageStatistics kNone;
  const auto found = std::find_if(statistics.stages.begin(), statistics.stages.end(),
                                  [&](const auto& stage) { return stage.label == label; });
  EXPECT_NE(found, statistics.stages.end()) << label << " in\n" << statistics.table();
  return found == statistics.stages.end() ? kNone : *found;
}

bool is_about(const std::string& verdict, std::string_view subject) {
  return verdict.find(subject) != std::string::npos;
}

TEST(Statistics, ASlowMapStandsOut) {
  PipelineStatistics statistics;
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    statistics = run(range(3000) | map([](std::int64_t x) { return x + 1; }) |
                     map(compute, {.name = "slow"}) | map([](std::int64_t x) { return x / 2; }));
    const StageStatistics& slow = find(statistics, "map[2] 'slow'");
    if (!slow.cpu_ns || !slow.blocked_ns) return false;
    EXPECT_EQ(*slow.cpu_ns + *slow.blocked_ns, slow.work_ns);
    const auto stands_out = [&](const char* other) {
      return slow.work_ns > 10 * find(statistics, other).work_ns;
    };
    return stands_out("range") && stands_out("map[1]") && stands_out("map[3]") &&
           *slow.cpu_ns > 10 * find(statistics, "range").cpu_ns.value_or(0) &&
           2 * statistics.consumer_wait_ns > statistics.elapsed_ns &&  // nothing else takes time
           is_about(statistics.verdict(), "map[2] 'slow'");
  })) << statistics.table();
}

TEST(Statistics, AKindOfStageSaysWhatGivesItMoreThreads) {
  const auto statistics = run(range(3) | map(compute) | enumerate() | prefetch());
  EXPECT_TRUE(find(statistics, "map").traits.has_parallelism);
  EXPECT_FALSE(find(statistics, "enumerate").traits.has_parallelism);
  EXPECT_FALSE(find(statistics, "range").traits.reads_files);
}

TEST(Statistics, AParallelMapsThreadsAreMeasured) {
  PipelineStatistics statistics;
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    statistics =
        run(range(3000) | map(compute, {.parallelism = 2}), {.executor = Executor::threads(2)});
    const StageStatistics& slow = find(statistics, "map");
    if (!slow.cpu_ns) return false;
    EXPECT_LE(*slow.cpu_ns, slow.work_ns);
    return *slow.cpu_ns > 10 * find(statistics, "range").work_ns;
  })) << statistics.table();
}

TEST(Statistics, ASlowSourceStandsOut) {
  const auto source = generate(
      [] {
        return [left = 3000]() mutable -> std::optional<std::int64_t> {
          return left-- > 0 ? std::optional(compute(left)) : std::nullopt;
        };
      },
      {.name = "camera"});
  PipelineStatistics statistics;
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    statistics = run(source | map([](std::int64_t x) { return x + 1; }) | prefetch());
    return find(statistics, "generate 'camera'").work_ns > 10 * find(statistics, "map").work_ns &&
           find(statistics, "prefetch").wait_ns > 0 &&
           is_about(statistics.verdict(), "generate 'camera'");
  })) << statistics.table();
}

TEST(Statistics, ASlowConsumerStandsOut) {
  PipelineStatistics statistics;
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    auto iterator = (range(3000) | map([](std::int64_t x) { return x + 1; })).iterate();
    std::uint64_t sum = 0;
    while (const auto element = iterator.next()) {
      sum += static_cast<std::uint64_t>(compute(*element));
    }
    EXPECT_NE(sum, 0U);
    statistics = iterator.statistics();
    return statistics.elapsed_ns > 10 * statistics.consumer_wait_ns &&
           is_about(statistics.verdict(), "the consumer is slower than the pipeline");
  })) << statistics.table();
}

TEST(Statistics, TheTimeBeginsWithTheFirstElementAndStopsAtTheEnd) {
  auto iterator = range(10).iterate();
  EXPECT_EQ(iterator.statistics().elapsed_ns, 0);
  iterator.next();
  EXPECT_GT(iterator.statistics().elapsed_ns, 0);
  const auto at_end = run(iterator);
  EXPECT_EQ(iterator.statistics().elapsed_ns, at_end.elapsed_ns);
  EXPECT_EQ(iterator.statistics().process_cpu_ns, at_end.process_cpu_ns);
  EXPECT_LE(at_end.consumer_wait_ns, at_end.elapsed_ns);
}

TEST(Statistics, APullUnderWayIsWaitingAlready) {
  EXPECT_TRUE(holds_in_a_quiet_run([] {
    Iterator<std::int64_t>* running = nullptr;
    PipelineStatistics inside;
    const auto look = [&](std::int64_t x) {
      for (int i = 0; i < 1000; ++i) x = compute(x);
      inside = running->statistics();
      return x;
    };
    auto iterator = (range(1) | map(look)).iterate();
    running = &iterator;
    iterator.next();
    EXPECT_EQ(inside.stages.front().elements, 0);
    EXPECT_THAT(inside.verdict(), HasSubstr("no element has come yet"));
    return 2 * inside.consumer_wait_ns > inside.elapsed_ns;
  }));
}

TEST(Statistics, AResumeIsWaitingToo) {
  const auto dataset = range(1000) | filter([](std::int64_t x) { return compute(x) != 0; });
  auto iterator = dataset.iterate();
  for (int i = 0; i < 900; ++i) iterator.next();
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    auto resumed = dataset.iterate({.resume = iterator.checkpoint()});
    const auto statistics = resumed.statistics();
    EXPECT_LE(statistics.consumer_wait_ns, statistics.elapsed_ns);
    return 2 * statistics.consumer_wait_ns > statistics.elapsed_ns;
  }));
}

TEST(Statistics, BytesAreWhatElementsOwn) {
  const auto statistics =
      run(range(3000) | map([](std::int64_t) { return std::string(1000, 'x'); }));
  EXPECT_EQ(find(statistics, "range").bytes, 3000 * sizeof(std::int64_t));
  EXPECT_GE(find(statistics, "map").bytes, 3000 * 1000);
}

TEST(Statistics, WhatAutotuneChoseIsTold) {
  const auto add = [](std::int64_t x) { return x + 1; };
  const auto statistics = run(range(3000) | map(add, {.parallelism = autotune}) |
                                  map(add, {.parallelism = 2}) | prefetch() | prefetch(7),
                              {.executor = Executor::threads(3)});
  const StageStatistics& tuned = find(statistics, "map[1]");
  EXPECT_TRUE(tuned.is_tuned);
  EXPECT_EQ(tuned.parallelism, 3);
  const StageStatistics& given = find(statistics, "map[2]");
  EXPECT_FALSE(given.is_tuned);
  EXPECT_EQ(given.parallelism, 2);
  EXPECT_TRUE(find(statistics, "prefetch[1]").is_tuned);
  EXPECT_GE(find(statistics, "prefetch[1]").queue_elements_max, 2);
  EXPECT_FALSE(find(statistics, "prefetch[2]").is_tuned);
  EXPECT_EQ(find(statistics, "prefetch[2]").queue_elements_max, 7);
  EXPECT_THAT(statistics.table(), HasSubstr("\nautotune chose for map[1]: parallelism 3\n"));
  EXPECT_THAT(statistics.table(), HasSubstr("\nautotune chose for prefetch[1]: a queue of "));
}

/// Replaces numbers by #, with their units and the width of the column.
std::string shape_of(const std::string& text) {
  std::string shape = std::regex_replace(text, std::regex("[0-9][0-9,.]*"), "#");
  shape = std::regex_replace(shape, std::regex("(#%|#| -)(?= |\n)( (ns|us|ms|s)\\b)?"), " #");
  return std::regex_replace(shape, std::regex(" +"), " ");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Statistics, TheTableIsTheOneOfTheReadme) {
  const std::string text = read_whole(INFEED_PIPELINE_README);
  const std::size_t begin = text.find("s, of which the consumer waited");
  ASSERT_NE(begin, text.npos);
  const std::size_t first_line = text.rfind('\n', begin) + 1;
  const auto theirs = lines_of(text.substr(first_line, text.find("\n```", begin) - first_line));
  const auto add = [](std::int64_t x) { return x + 1; };
  std::vector<std::string> ours;
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    ours = lines_of(run(range(3000) | map(add, {.name = "decode"}) |
                        map(compute, {.name = "augment"}) | batch(32) | prefetch())
                        .table());
    return is_about(ours.back(), "map[2] 'augment'");
  })) << ours.back();
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i + 1 < ours.size(); ++i) {
    EXPECT_EQ(shape_of(ours[i] + "\n"), shape_of(theirs[i] + "\n"));
    EXPECT_LE(ours[i].size(), 100);
  }
  for (const std::string& verdict : {ours.back(), theirs.back()}) {
    EXPECT_TRUE(verdict.starts_with("verdict: ")) << verdict;
  }
  EXPECT_THAT(theirs.back(), HasSubstr("map[2] 'augment'"));
}

TEST(Statistics, TheTableHasEachFigureInItsUnit) {
  PipelineStatistics statistics{.elapsed_ns = 2'000'000'000,
                                .consumer_wait_ns = 500'000'000,
                                .process_cpu_ns = 3'000'000'000,
                                .cores = 4};
  const auto add = [&](std::string label, std::uint64_t elements, std::uint64_t work_ns) {
    StageStatistics stage;
    stage.label = std::move(label);
    stage.elements = elements;
    stage.work_ns = work_ns;
    statistics.stages.push_back(std::move(stage));
  };
  add("prefetch", 1, 1'500'000'000);
  statistics.stages.back().runs_ahead = true;
  statistics.stages.back().wait_ns = 1'000'000'000;
  statistics.stages.back().full_ns = 200'000'000;
  statistics.stages.back().is_tuned = true;
  statistics.stages.back().queue_elements_max = 3;
  statistics.stages.back().queue_bytes_max = 3 << 19;
  add("map 'abcdefghijklmnopqrstuvwxyz'", 10, 20'000'000);
  statistics.stages.back().cpu_ns = 5'000'000;
  statistics.stages.back().errors = 2;
  statistics.stages.back().is_tuned = true;
  statistics.stages.back().parallelism = 7;
  add("map 'abcdefghijklmnopqrstuvwx'", 100, 250'000);
  add("range", 0, 900);
  const std::string table = statistics.table();
  EXPECT_EQ(table.substr(0, table.find("verdict: ")),
            R"(2.00 s, of which the consumer waited 25%; the process kept 1.5 of 4 cores busy
stage                             elements errors   own/elem     own  on CPU   wait   full  buffered
prefetch                                 1      0      1.5 s     75%       -    50%    10%         0
map 'abcdefghi..nopqrstuvwxyz'          10      2     2.0 ms      1%     25%      -      -         0
map 'abcdefghijklmnopqrstuvwx'         100      0     2.5 us      0%       -      -      -         0
range                                    0      0   900.0 ns      0%       -      -      -         0
autotune chose for prefetch: a queue of 3 elements or 1.5 MiB
autotune chose for map 'abcdefghijklmnopqrstuvwxyz': parallelism 7
)");
}

/// Returns the part of the table between its head and the verdict, of stages whose consumer took one
/// second.
std::string rows_of_table(std::vector<StageStatistics> stages) {
  PipelineStatistics statistics{.stages = std::move(stages), .elapsed_ns = 1'000'000'000};
  const std::string table = statistics.table();
  const std::size_t begin = table.find('\n', table.find('\n') + 1) + 1;
  return table.substr(begin, table.find("verdict: ") - begin);
}

TEST(Statistics, TheTableChangesUnitsAtAThousand) {
  const auto time_of = [](std::uint64_t work_ns) {
    StageStatistics stage;
    stage.elements = 1;
    stage.work_ns = work_ns;
    const std::string row = rows_of_table({stage});
    return row.substr(50, 10);  // own/elem
  };
  EXPECT_EQ(time_of(999), "  999.0 ns");
  EXPECT_EQ(time_of(1000), "    1.0 us");
  EXPECT_EQ(time_of(999'900), "  999.9 us");
  EXPECT_EQ(time_of(1'000'000), "    1.0 ms");
  EXPECT_EQ(time_of(999'900'000), "  999.9 ms");
  EXPECT_EQ(time_of(1'000'000'000), "     1.0 s");
  const auto size_of = [](std::uint64_t bytes) {
    StageStatistics stage;
    stage.label = "prefetch";
    stage.is_tuned = true;
    stage.queue_elements_max = 1;
    stage.queue_bytes_max = bytes;
    const std::string rows = rows_of_table({stage});
    return rows.substr(rows.find('\n') + 1);
  };
  const std::string begin = "autotune chose for prefetch: a queue of 1 elements or ";
  EXPECT_EQ(size_of(1023), begin + "1023 bytes\n");
  EXPECT_EQ(size_of(1024), begin + "1.0 KiB\n");
  EXPECT_EQ(size_of(1023 * 1024), begin + "1023.0 KiB\n");
  EXPECT_EQ(size_of(1024 * 1024), begin + "1.0 MiB\n");
}

TEST(Statistics, TheTableShowsHowDeepAStageIs) {
  std::vector<StageStatistics> stages(3);
  stages[0].label = "batch";
  stages[1].label = "map";
  stages[1].depth = 2;
  stages[2].label = "interleave < range";
  stages[2].depth = 70;
  std::istringstream rows(rows_of_table(stages));
  for (const char* const expected : {"batch", "  map", "              ..rleave < range"}) {
    std::string row;
    std::getline(rows, row);
    EXPECT_EQ(row.substr(0, 31), fmt::format("{:<30} ", expected));
  }
}

TEST(Statistics, TheTableHasWhatOnlySomeKindsCount) {
  static constexpr std::string_view kCounts[] = {"skipped_frames", "late_frames", "more"};
  StageStatistics stage;
  stage.label = "camera";
  stage.traits.counts = kCounts;
  stage.counts = {5, 7};
  stage.traits.text = [](std::string_view label, std::span<const std::uint64_t> counts) {
    return fmt::format("skipped by {}: {} frames\n", label, counts[0]);
  };
  EXPECT_EQ(stage.count("skipped_frames"), 5U);
  EXPECT_EQ(stage.count("late_frames"), 7U);
  EXPECT_EQ(stage.count("more"), 0U);
  EXPECT_EQ(stage.count("others"), 0U);
  PipelineStatistics statistics{.stages = {stage}, .recording_problem = "the disk is full"};
  const std::string table = statistics.table();
  EXPECT_THAT(table, HasSubstr("\nskipped by camera: 5 frames\nrecording failed: the disk is full\n"
                               "verdict: "));
  EXPECT_TRUE(
      table.starts_with("0.00 s, of which the consumer waited -; the process kept 0.0 of 1 "
                        "cores busy\n"))
      << table;
}

TEST(Statistics, ALongNameKeepsItsColumn) {
  const auto statistics = run(range(10, {.name = std::string(64, 'n')}));
  EXPECT_EQ(statistics.stages.front().given_name, std::string(64, 'n'));
  EXPECT_EQ(lines_of(statistics.table())[2].size(), lines_of(statistics.table())[1].size());
}

}  // namespace
}  // namespace infeed::test
