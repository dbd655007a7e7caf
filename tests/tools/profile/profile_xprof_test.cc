#include "profile/outputs/profile_xprof.h"

#include <algorithm>
#include <filesystem>
#include <gmock/gmock.h>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "temporary_folder.h"
#include "tools/profile/synthetic_run.h"

namespace infeed::test {
namespace {

using ::testing::EndsWith;

/// The fields of one message: numbers, and the bytes of texts and inner messages.
struct Fields {
  explicit Fields(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::uint64_t tag = varint(bytes);
      if (tag % 8 == 0) {
        numbers[tag / 8].push_back(varint(bytes));
        continue;
      }
      const std::uint64_t size = tag % 8 == 1 ? 8 : varint(bytes);
      EXPECT_LE(size, bytes.size());
      texts[tag / 8].emplace_back(bytes.substr(0, size));
      bytes.remove_prefix(std::min<std::size_t>(size, bytes.size()));
    }
  }

  static std::uint64_t varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !bytes.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }

  std::uint64_t number(std::uint64_t field) {
    return numbers[field].empty() ? 0 : numbers[field].front();
  }
  std::string text(std::uint64_t field) { return texts[field].empty() ? "" : texts[field].front(); }

  std::map<std::uint64_t, std::vector<std::uint64_t>> numbers;
  std::map<std::uint64_t, std::vector<std::string>> texts;
};

struct SpaceEvent {
  std::string plane, line, name;
  std::uint64_t begin_ps = 0, length_ps = 0;
};

std::vector<SpaceEvent> events_of(const SyntheticProfile& profile) {
  std::vector<SpaceEvent> events;
  Fields space(tools::profile_xspace(profile.run, profile.report));
  for (const std::string& plane_bytes : space.texts[1]) {
    Fields plane(plane_bytes);
    std::map<std::uint64_t, std::string> names;
    for (const std::string& entry : plane.texts[4]) {
      names[Fields(entry).number(1)] = Fields(Fields(entry).text(2)).text(2);
    }
    for (const std::string& line_bytes : plane.texts[3]) {
      Fields line(line_bytes);
      for (const std::string& event_bytes : line.texts[4]) {
        Fields event(event_bytes);
        events.push_back({plane.text(2), line.text(2), names[event.number(1)], event.number(2),
                          event.number(3)});
      }
    }
  }
  return events;
}

TEST(ProfileXprof, TheDevicesOperationsAreThePartsOfTheSteps) {
  const SyntheticProfile profile = synthetic_profile();
  std::map<std::string, std::uint64_t> ps_by_operation;
  std::size_t steps = 0;
  std::uint64_t behind_ps = 0;
  for (const SpaceEvent& event : events_of(profile)) {
    if (event.plane != "/device:TPU:0") continue;
    steps += event.line == "Steps";
    if (event.line != "XLA Ops") continue;
    EXPECT_GE(event.begin_ps, behind_ps);
    behind_ps = event.begin_ps + event.length_ps;
    ps_by_operation[event.name] += event.length_ps;
  }
  EXPECT_EQ(steps, 400u);
  EXPECT_EQ(ps_by_operation.size(), 4u);
  EXPECT_EQ(ps_by_operation["infeed.1"], profile.report.infeed_wait_ns * 1000);
  EXPECT_EQ(ps_by_operation["fusion.3"], profile.report.compute_ns * 1000);
}

TEST(ProfileXprof, TheHostWaitsForTheStageThatIsToBlame) {
  std::map<std::string, int> calls;
  std::vector<SpaceEvent> open;
  for (const SpaceEvent& event : events_of(synthetic_profile())) {
    if (event.line != "training step" || event.name == "train") continue;
    ++calls[event.name];
    if (event.name == "Iterator::Root") open.clear();
    for (const SpaceEvent& around : open) {
      EXPECT_GT(event.begin_ps, around.begin_ps);
      EXPECT_LT(event.begin_ps + event.length_ps, around.begin_ps + around.length_ps);
    }
    open.push_back(event);
  }
  EXPECT_EQ(calls["Iterator::Root"], 400);
  EXPECT_EQ(calls["Iterator::Root::Prefetch"], 400);
  // Two late steps starved at the prefetch, four waited for a read.
  EXPECT_EQ(calls["Iterator::Root::Prefetch::Batch::Map"], 398);
  EXPECT_EQ(calls["Iterator::Root::Prefetch::Batch::Map::Shuffle::TFRecord"], 4);
}

TEST(ProfileXprof, AStepThatDidNotWaitHasNoCallOfNoLength) {
  SyntheticProfile profile = synthetic_profile({.late_every = 0});
  for (tools::RecordedStep& step : profile.run.steps) step.infeed_wait_ns = 0;
  for (const SpaceEvent& event : events_of(profile)) EXPECT_GT(event.length_ps, 0u) << event.name;
}

TEST(ProfileXprof, EachWriteIsASessionOfItsOwn) {
  SyntheticProfile profile = synthetic_profile({.steps = 2, .late_every = 0});
  profile.run.host = "../odd/host\n";
  const TemporaryFolder folder;
  const std::string first = tools::profile_xprof(profile.run, profile.report, folder.path());
  const std::string second = tools::profile_xprof(profile.run, profile.report, folder.path());
  EXPECT_NE(std::filesystem::path(first).parent_path(),
            std::filesystem::path(second).parent_path());
  EXPECT_THAT(first, ::testing::StartsWith(folder.file("plugins/profile/")));
  EXPECT_THAT(first, EndsWith("/_odd_host_n.xplane.pb"));
  EXPECT_TRUE(std::filesystem::exists(first));
  EXPECT_TRUE(std::filesystem::exists(second));
}

TEST(ProfileXprof, RunsWithLittleInThem) {
  EXPECT_EQ(events_of({}).size(), 0u);
  EXPECT_EQ(events_of(synthetic_profile({.steps = 0})).size(), 0u);
  EXPECT_GT(events_of(synthetic_profile({.steps = 1, .late_every = 0})).size(), 5u);
}

}  // namespace
}  // namespace infeed::test
