#include "engine/threads/cpu_limits.h"

#include <climits>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "matchers.h"
#include "records/temporary_files.h"

namespace infeed::test {
namespace {

/// A folder with the files that the kernel would show.
class CpuLimits : public ::testing::Test {
 protected:
  int cores() const { return detail::cgroup_cores(root_.string(), (root_ / "groups").string()); }
  double quota() const { return detail::cgroup_quota(root_.string(), (root_ / "groups").string()); }
  /// Returns the folders without that of the mount.
  std::vector<std::string> folders(const std::string& controller) const {
    std::vector<std::string> found =
        detail::group_folders(root_.string(), (root_ / "groups").string(), controller);
    for (std::string& folder : found) {
      EXPECT_TRUE(folder.starts_with(root_.string())) << folder;
      folder.erase(0, root_.string().size());
    }
    return found;
  }

  const TemporaryFolder folder_;
  const std::filesystem::path& root_ = folder_.path();
};

TEST_F(CpuLimits, WithoutAnyFileThereIsNone) { EXPECT_EQ(cores(), INT_MAX); }

TEST_F(CpuLimits, TheTightestGroupOnTheWayToTheRootCounts) {
  folder_.write("groups", "0::/job/step\n");
  folder_.write("job/step/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), INT_MAX);
  folder_.write("job/cpu.max", "300000 100000\n");
  EXPECT_EQ(cores(), 3);
  folder_.write("job/step/cpu.max", "150000 100000\n");
  EXPECT_EQ(cores(), 2) << "one and a half cores keep two threads busy";
  folder_.write("job/step/cpu.max", "5000 100000\n");
  EXPECT_EQ(cores(), 1);
}

TEST_F(CpuLimits, InAContainerTheMountItselfIsTheGroup) {
  folder_.write("groups", "0::/\n");
  folder_.write("cpu.max", "200000 100000\n");
  EXPECT_EQ(cores(), 2);
}

TEST_F(CpuLimits, TheFirstVersionCountsToo) {
  folder_.write("groups", "4:memory:/other\n3:cpu,cpuacct:/job\n0::/\n");
  folder_.write("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  folder_.write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), INT_MAX);
  folder_.write("cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(cores(), 4);
}

TEST_F(CpuLimits, AQuotaOfTheFirstVersionNeedsItsPeriod) {
  folder_.write("groups", "3:cpu:/job\n");
  folder_.write("cpu/job/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(cores(), INT_MAX);
  folder_.write("cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), 4);
}

TEST_F(CpuLimits, AGroupHasTheFoldersUpToTheRoot) {
  EXPECT_THAT(folders(""), ElementsAre("/")) << "without a file";
  folder_.write("groups", "5:cpuset:/other\n4:cpu,cpuacct:/job/step\n3:memory:relative\n0::/own\n");
  EXPECT_THAT(folders(""), ElementsAre("/own/", "/"));
  EXPECT_THAT(folders("cpu"), ElementsAre("/job/step/", "/job/", "/"));
  EXPECT_THAT(folders("cpuacct"), ElementsAre("/job/step/", "/job/", "/"));
  EXPECT_THAT(folders("cpuset"), ElementsAre("/other/", "/"));
  EXPECT_THAT(folders("set"), ElementsAre("/"));
  EXPECT_THAT(folders("memory"), ElementsAre("relative/", "/"));
  folder_.write("groups", "nonsense\n0::\n");
  EXPECT_THAT(folders(""), ElementsAre("/"));
}

TEST_F(CpuLimits, AQuotaIsAShareOfItsPeriod) {
  folder_.write("groups", "0::/\n");
  for (const auto& [text, expected] : std::vector<std::pair<std::string, double>>{
           {"150000 100000", 1.5}, {"1 1", 1}, {"1 4", 0.25}}) {
    folder_.write("cpu.max", text);
    EXPECT_EQ(quota(), expected) << text;
  }
  for (const std::string none : {"0 100000", "-1 100000", "100000 0", "100000 -5", "max 5", "5"}) {
    folder_.write("cpu.max", none);
    EXPECT_EQ(quota(), std::numeric_limits<double>::infinity()) << none;
  }
}

TEST_F(CpuLimits, AGroupThatIsNotNamedIsTheRoot) {
  folder_.write("groups", "0::/job\n");
  folder_.write("cpu/cpu.cfs_quota_us", "200000\n");
  folder_.write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), 2);
  folder_.write("cpu/job/cpu.cfs_quota_us", "100000\n");
  folder_.write("cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), 2) << "that is a group of the other version";
}

/// Returns the machine's busy time as /proc/stat has it.
std::uint64_t busy_ns_by_kernel() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  file >> cpu;
  std::uint64_t ticks = 0;
  for (const bool is_busy : {true, true, true, false, false, true, true, true}) {
    std::uint64_t part = 0;
    file >> part;
    if (is_busy) ticks += part;
  }
  return ticks * (1'000'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

TEST_F(CpuLimits, TheMachineIsBusyWhenItIsNeitherIdleNorWaits) {
  const std::uint64_t before = busy_ns_by_kernel();
  const std::uint64_t busy = detail::machine_busy_ns();
  EXPECT_LE(before, busy);
  EXPECT_LE(busy, busy_ns_by_kernel());
  EXPECT_GT(detail::usable_cpu_time(), 0);
}

TEST_F(CpuLimits, WhatIsNoNumberIsNoLimit) {
  folder_.write("groups", "0::/job\nnonsense\n::\n");
  folder_.write("job/cpu.max", "many 100000\n");
  EXPECT_EQ(cores(), INT_MAX);
}

}  // namespace
}  // namespace infeed::test
