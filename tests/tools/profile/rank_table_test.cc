#include "profile/ranks/rank_table.h"

#include <filesystem>
#include <utility>

#include <infeed/error.h>

#include "cli/printable.h"
#include "temporary_folder.h"
#include "thrown_error.h"
#include "tools/profile/made_recording.h"

namespace infeed::test {
namespace {

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

std::vector<tools::RankRun> ranks_of(std::vector<tools::RecordedRun> runs) {
  std::vector<tools::RankRun> ranks;
  for (tools::RecordedRun& run : runs) ranks.push_back({ranks.size(), std::move(run)});
  return ranks;
}

TEST(RankTable, NamesTheRankThatWaitsForItsInput) {
  const tools::RankTable table =
      tools::compare_ranks(ranks_of({run_of("a", 1, 12), run_of("b", 27, 12), run_of("c", 3, 12)}));
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
  const tools::RankTable table =
      tools::compare_ranks(ranks_of({run_of("a", 1, 38), run_of("b", 1, 12)}));
  EXPECT_EQ(table.slowest, 0U);
  EXPECT_EQ(table.lines.back(),
            "Rank 0 (a) held back 100 % of 10 steps: it took 38.0 ms for its own part, the others "
            "12.0 ms.");
}

TEST(RankTable, CountsTheStepsThatAllHave) {
  std::vector<tools::RecordedRun> runs = {run_of("a", 1, 12), run_of("b", 20, 12)};
  std::swap(runs[0].steps[4].all_reduce_ns, runs[1].steps[4].all_reduce_ns);
  runs[1].steps.pop_back();  // its recording is cut
  const tools::RankTable table = tools::compare_ranks(ranks_of(std::move(runs)));
  EXPECT_DOUBLE_EQ(table.rows[0].last_share, 1.0 / 9);
  EXPECT_DOUBLE_EQ(table.rows[1].last_share, 8.0 / 9);
  EXPECT_THAT(table.lines.back(), HasSubstr("Rank 1 (b) held back 89 % of 9 steps"));
}

/// Rank 0 was blamed for all steps of recordings that have no all-reduce times.
TEST(RankTable, WithoutAllReduceTimesNobodyIsBlamed) {
  std::vector<tools::RecordedRun> runs = {run_of("a", 1, 12), run_of("b", 20, 12),
                                          run_of("c", 3, 12)};
  for (tools::RecordedRun& run : runs) {
    for (tools::RecordedStep& step : run.steps) step.all_reduce_ns = 0;
  }
  const tools::RankTable table = tools::compare_ranks(ranks_of(std::move(runs)));
  EXPECT_EQ(table.slowest, 1U) << "it waited longest for its input";
  EXPECT_EQ(table.lines.back(),
            "    2  c                   15.0 ms      3.0     12.0      0.0      -");
}

TEST(RankTable, AStepInWhichTwoCameLastIsNobodys) {
  std::vector<tools::RecordedRun> runs = {run_of("a", 1, 12), run_of("b", 20, 12),
                                          run_of("c", 20, 12)};
  runs[2].steps[7].all_reduce_ns -= 1;
  const tools::RankTable table = tools::compare_ranks(ranks_of(std::move(runs)));
  EXPECT_EQ(table.slowest, 2U);
  EXPECT_THAT(table.lines.back(), HasSubstr("Rank 2 (c) held back 100 % of 1 steps"));
}

TEST(RankTable, ARunWithoutStepsHasNoVerdict) {
  EXPECT_THAT(tools::compare_ranks(ranks_of({{}, {}})).lines.back(), HasSubstr("    1 "));
}

class RankRecordings : public ::testing::Test {
 protected:
  /// Writes a recording of 0.4 s.
  void record(const std::string& ending, double started_unix_s) const {
    tools::RecordedRun run = run_of("host", 1, 12);
    run.started_unix_s = started_unix_s;
    write_whole(path_ + ending, recording_text(run));
  }
  /// Returns the endings of the files that are explained.
  std::vector<std::string> read() {
    const tools::RecordedJob job = tools::read_recorded_job(path_);
    note_ = job.note;
    std::vector<std::string> endings;
    if (job.alone) endings.push_back(job.alone->path.substr(path_.size()));
    for (const tools::RankRun& rank : job.ranks) {
      endings.push_back(rank.run.path.substr(path_.size()));
      EXPECT_EQ(endings.back(), ".rank" + std::to_string(rank.rank));
    }
    return endings;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("run.profile");
  std::string note_;
};

TEST_F(RankRecordings, AreThoseOfAllRanks) {
  EXPECT_THAT(tools::rank_recordings(path_), IsEmpty());
  for (const char* const ending : {".rank1", ".rank10", ".rank2", ".rank1-2", ".feed0", ".rank"})
    record(ending, 1000);
  EXPECT_THAT(read(), ElementsAre(".rank1", ".rank2", ".rank10"));
  EXPECT_EQ(note_, "");
}

TEST_F(RankRecordings, OfAnEarlierJobAreLeftOut) {
  for (const char* const ending : {".rank0", ".rank1"}) record(ending, 2000);
  for (const char* const ending : {".rank2", ".rank3"}) record(ending, 1990);
  EXPECT_THAT(read(), ElementsAre(".rank0", ".rank1"));
  EXPECT_EQ(note_, "Other recordings are left out: " + tools::printable(path_ + ".rank2", 200) +
                       " and 1 more");
}

/// Whatever lay at PATH was explained, and ranks were ignored.
TEST_F(RankRecordings, TheNewerOfAProcessAndRanksAreExplained) {
  record("", 1000);
  for (const char* const ending : {".rank0", ".rank1"}) record(ending, 2000);
  EXPECT_THAT(read(), ElementsAre(".rank0", ".rank1"));
  EXPECT_THAT(note_, HasSubstr("left out"));
  record("", 3000);
  EXPECT_THAT(read(), ElementsAre(""));
  EXPECT_THAT(note_, HasSubstr(" and 1 more"));
  record("", 2000.2);  // a program of the same job
  EXPECT_THAT(read(), ElementsAre(".rank0", ".rank1"));
}

TEST_F(RankRecordings, ClocksBeforeTheEpochHideNone) {
  record(".rank0", -100);
  EXPECT_THAT(read(), ElementsAre(".rank0"));
}

/// A file of another job must not hide what can be read.
TEST_F(RankRecordings, OneThatCantBeReadIsLeftOut) {
  record("", 3000);
  write_whole(path_ + ".rank3", "no recording");
  EXPECT_THAT(read(), ElementsAre(""));
  EXPECT_THAT(note_, HasSubstr(".rank3"));
  std::filesystem::remove(path_);
  EXPECT_EQ(error_of([&] { read(); }).code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace infeed::test
