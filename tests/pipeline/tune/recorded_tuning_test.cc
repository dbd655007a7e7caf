#include <cstdlib>
#include <filesystem>
#include <string>

#include <infeed/infeed.h>

#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

const fs::path kRecorded = INFEED_RECORDED_TUNING;

/// Returns the tuner's decisions for the windows, whoever set the knobs in them.
std::string said_to(const std::vector<TuningObservation>& windows) {
  const auto tuner = make_tuner();
  TuningReport report;
  for (const TuningObservation& window : windows) {
    TuningDecision decision = tuner->observe(window);
    for (TuningChange& change : decision.finished) report.changes.push_back(std::move(change));
    if (decision.begun) report.changes.push_back(*decision.begun);
    for (std::string& note : decision.notes) report.notes.push_back(std::move(note));
    if (!decision.verdict.empty()) report.verdict = decision.verdict;
  }
  return report.text();
}

/// The runs of benchmarks/autotune, some of them while compilers kept the cores busy. Changed
/// decisions of the tuner show here; INFEED_WRITE_SAID writes the current ones. A run belongs here if
/// the tuner does something in it that no other of them shows.
TEST(RecordedTuning, IsAnsweredAsBefore) {
  int runs = 0;
  for (const auto& entry : fs::directory_iterator(kRecorded)) {
    if (entry.path().extension() != ".txt") continue;
    SCOPED_TRACE(entry.path().filename());
    fs::path said = entry.path();
    said.replace_extension(".said");
    const std::string now = said_to(read_recorded_tuning(entry.path()));
    if (std::getenv("INFEED_WRITE_SAID") != nullptr) write_whole(said, now);
    EXPECT_EQ(now, read_whole(said));
    ++runs;
  }
  EXPECT_EQ(runs, 7);
}

TEST(RecordedTuning, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "windows.txt";
  {
    const auto dataset =
        range(100'000) | map([](std::int64_t x) { return x; }, {.parallelism = autotune});
    auto iterator = dataset.iterate({.tuner = {.policy = record_tuning(make_tuner(), file)}});
    while (iterator.next()) {
    }
  }
  const auto windows = read_recorded_tuning(file);
  ASSERT_FALSE(windows.empty());
  ASSERT_EQ(windows[0].stages.size(), 2u);
  EXPECT_EQ(windows[0].stages[0].label, "map");
  EXPECT_EQ(windows[0].stages[1].consumer, 0);
  ASSERT_EQ(windows[0].knobs.size(), 1u);
  EXPECT_EQ(windows[0].knobs[0].shape, KnobShape::behind);
}

TEST(RecordedTuning, ThatIsNoneSaysWhichLine) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "windows.txt";
  for (const char* line : {"stage 0", "knob 1 7 0 0 0 0 0 0 0", "what", "window 1 2 x"}) {
    folder.write("windows.txt", std::string("window 1 2 3 4 5 2 0 0 0\n") + line + "\n");
    EXPECT_EQ(error_of([&] { read_recorded_tuning(file); }).message(),
              file.string() + ": line 2 is '" + line + "', which is no window, stage or knob");
  }
  EXPECT_THAT(error_of([&] { record_tuning(make_tuner(), folder.path() / "no" / "file"); }).what(),
              HasSubstr("can't be written; name a file in a folder that is there"));
}

}  // namespace
}  // namespace infeed::test
