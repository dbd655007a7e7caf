#include "profile/ranks/rank_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace infeed::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMs = 1'000'000;

tools::RecordedRun run_of(const std::string& host, std::uint64_t input_ms, std::uint64_t own_ms) {
  tools::RecordedRun run;
  run.host = host;
  for (std::uint64_t step = 0; step < 10; ++step) {
    // All steps are as long as the slowest rank's: the others wait for it.
    run.steps.push_back({.number = step,
                         .begin_ns = step * 40 * kMs,
                         .infeed_wait_ns = input_ms * kMs,
                         .compute_ns = own_ms * kMs,
                         .all_reduce_ns = (40 - input_ms - own_ms) * kMs});
  }
  return run;
}

TEST(RankTable, NamesTheRankThatWaitsForItsInput) {
  const tools::RankTable table =
      tools::compare_ranks({run_of("a", 1, 12), run_of("b", 27, 12), run_of("c", 3, 12)});
  EXPECT_EQ(table.slowest, 1U);
  EXPECT_THAT(
      table.lines,
      ElementsAre(" rank  host                   step    input      own   others   last",
                  "    0  a                   40.0 ms      1.0     12.0     27.0    0 %",
                  "    1  b                   40.0 ms     27.0     12.0      1.0  100 %",
                  "    2  c                   40.0 ms      3.0     12.0     25.0    0 %",
                  "Rank 1 (b) held back 100 % of 10 steps: it waited 27.0 ms for input, the "
                  "others 2.0 ms."));
}

TEST(RankTable, NamesTheRankThatComputesLong) {
  const tools::RankTable table = tools::compare_ranks({run_of("a", 1, 38), run_of("b", 1, 12)});
  EXPECT_EQ(table.slowest, 0U);
  EXPECT_EQ(table.lines.back(),
            "Rank 0 (a) held back 100 % of 10 steps: it took 38.0 ms for its own part, the others "
            "12.0 ms.");
}

TEST(RankTable, CountsTheStepsOfEach) {
  std::vector<tools::RecordedRun> runs = {run_of("a", 1, 12), run_of("b", 20, 12)};
  std::swap(runs[0].steps[4].all_reduce_ns, runs[1].steps[4].all_reduce_ns);
  runs[1].steps.pop_back();  // its recording is cut
  const tools::RankTable table = tools::compare_ranks(runs);
  EXPECT_DOUBLE_EQ(table.rows[0].last_share, 0.2);
  EXPECT_DOUBLE_EQ(table.rows[1].last_share, 0.8);
}

TEST(RankTable, ARunWithoutStepsHasNoVerdict) {
  EXPECT_THAT(tools::compare_ranks({{}, {}}).lines.back(), HasSubstr("    1 "));
}

TEST(RankTable, FindsTheRecordingsOfAllRanks) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.profile");
  EXPECT_THAT(tools::rank_recordings(path), IsEmpty());
  for (const char* const end : {".rank0", ".rank1", ".rank3"}) write_whole(path + end, "x");
  EXPECT_THAT(tools::rank_recordings(path), ElementsAre(path + ".rank0", path + ".rank1"));
  write_whole(path, "x");
  EXPECT_THAT(tools::rank_recordings(path), IsEmpty());
}

}  // namespace
}  // namespace infeed::test
