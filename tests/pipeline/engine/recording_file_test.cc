#include "engine/recording/recording_file.h"

#include <cstddef>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "records/temporary_files.h"

namespace infeed::test {
namespace {

constexpr std::size_t kRecordedLineBytes = 24;

/// Returns a line of these kinds each, `kRecordedLineBytes` long.
std::vector<std::string> recorded_lines(const std::vector<std::string>& kinds) {
  std::vector<std::string> lines;
  for (const std::string& kind : kinds) {
    std::string line = fmt::format("{{\"{}\": {}}}", kind, lines.size());
    line.resize(kRecordedLineBytes - 1, ' ');
    lines.push_back(line + '\n');
  }
  return lines;
}

void write_lines(detail::RecordingFile& file, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) file.append(line);
  file.write();
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

/// 20 lines, of which the tenth is the first of the newer half.
std::vector<std::string> twenty_lines() {
  std::vector<std::string> kinds = {"infeed_recording", "steps",   "window", "slow",   "held_back",
                                    "late_steps",       "outlier", "stages", "tuning", "steps"};
  kinds.resize(20, "window");
  return recorded_lines(kinds);
}

/// The process's number may be used again, the time of its start not.
TEST(RecordingFile, BeginsWithTheProcessThatWritesIt) {
  std::istringstream fields(
      read_whole("/proc/self/stat").substr(read_whole("/proc/self/stat").rfind(')') + 1));
  std::string start;
  for (int field = 3; field <= 22; ++field) fields >> start;
  EXPECT_EQ(detail::recording_begin(),
            fmt::format("{{\"infeed_recording\": 1, \"process\": {}, \"process_start\": {}, ",
                        ::getpid(), start));
}

TEST(RecordingFile, BeyondItsLimitTheOlderHalfLosesItsDetails) {
  const TemporaryFolder folder;
  const std::string name = folder.file("run.profile");
  folder.write("run.profile.partial", "left by a process that was killed\n");
  std::vector<std::string> lines = twenty_lines();
  detail::RecordingFile file(name, joined(lines).size() - 1);
  EXPECT_EQ(file.name(), name);
  write_lines(file, lines);
  lines.erase(lines.begin() + 1, lines.begin() + 5);
  EXPECT_EQ(read_whole(name), joined(lines));
  EXPECT_EQ(file.name(), name);
  EXPECT_FALSE(std::filesystem::exists(name + ".partial"));

  // That is more than three quarters of the limit, which therefore becomes twice as much.
  const std::vector<std::string> more =
      recorded_lines(std::vector<std::string>(lines.size(), "window"));
  write_lines(file, more);
  EXPECT_EQ(read_whole(name), joined(lines) + joined(more));
  write_lines(file, recorded_lines({"window"}));
  lines.resize(5);  // all others are details in the older half by now
  EXPECT_EQ(read_whole(name), joined(lines) + joined(more) + joined(recorded_lines({"window"})));
}

/// They count all calls so far. Each stage adds one every five seconds, so that those of a week were
/// larger than the limit.
TEST(RecordingFile, BeyondItsLimitOnlyTheLastHistogramOfAStageStays) {
  const TemporaryFolder folder;
  const auto histogram = [](int stage, int calls) {
    return fmt::format("{{\"histogram\": {{\"stage\": {}, \"calls_by_log2_ns\": [0,{}]}}}}\n",
                       stage, calls);
  };
  const std::vector<std::string> lines = {histogram(0, 1), histogram(1, 2), histogram(10, 3),
                                          histogram(0, 4), histogram(1, 5)};
  const std::string kept = histogram(0, 4) + histogram(1, 5) + histogram(10, 3);
  // Readers refuse what stands behind the end.
  for (const std::string end : {"", "{\"end\": {\"at_ns\": 1}}\n"}) {
    const std::string name = folder.file("run.profile" + std::to_string(end.size()));
    std::vector<std::string> all = lines;
    if (!end.empty()) all.push_back(end);
    detail::RecordingFile file(name, joined(all).size() - 1);
    write_lines(file, all);
    EXPECT_EQ(read_whole(name), kept + end);
  }
}

TEST(RecordingFile, KeepsAllWithinItsLimitAndWithoutOne) {
  const TemporaryFolder folder;
  const std::string text = joined(twenty_lines());
  for (const std::size_t bytes_max : {text.size(), std::size_t{0}}) {
    const std::string name = folder.file(fmt::format("{}.profile", bytes_max));
    detail::RecordingFile file(name, bytes_max);
    write_lines(file, twenty_lines());
    EXPECT_EQ(read_whole(name), text) << bytes_max;
    file.write();
    EXPECT_EQ(read_whole(name), text) << bytes_max;
  }
}

/// Long files are written anew in parts of a MiB.
TEST(RecordingFile, ALongOneIsWrittenAnewAsAWhole) {
  const TemporaryFolder folder;
  const std::string name = folder.file("run.profile");
  std::vector<std::string> lines;
  for (int i = 0; i < 5; ++i) {
    lines.push_back(fmt::format("{{\"stages\": {}", i) + std::string(600'000, ' ') + "}\n");
  }
  detail::RecordingFile file(name, 1);
  write_lines(file, lines);
  EXPECT_TRUE(read_whole(name) == joined(lines));
  write_lines(file, recorded_lines({"end"}));
  EXPECT_TRUE(read_whole(name) == joined(lines) + joined(recorded_lines({"end"})));
}

}  // namespace
}  // namespace infeed::test
