#include "engine/threads/cpu_limits.h"

#include <climits>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "records/temporary_files.h"

namespace infeed::test {
namespace {

/// A folder with the files that the kernel would show.
class CpuLimits : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& content) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << content;
  }
  int cores() const { return detail::cgroup_cores(root_.string(), (root_ / "groups").string()); }

 private:
  const test::TemporaryFolder folder_;
  const std::filesystem::path& root_ = folder_.path();
};

TEST_F(CpuLimits, WithoutAnyFileThereIsNone) { EXPECT_EQ(cores(), INT_MAX); }

TEST_F(CpuLimits, TheTightestGroupOnTheWayToTheRootCounts) {
  write("groups", "0::/job/step\n");
  write("job/step/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), INT_MAX);
  write("job/cpu.max", "300000 100000\n");
  EXPECT_EQ(cores(), 3);
  write("job/step/cpu.max", "150000 100000\n");
  EXPECT_EQ(cores(), 2) << "one and a half cores keep two threads busy";
  write("job/step/cpu.max", "5000 100000\n");
  EXPECT_EQ(cores(), 1);
}

TEST_F(CpuLimits, InAContainerTheMountItselfIsTheGroup) {
  write("groups", "0::/\n");
  write("cpu.max", "200000 100000\n");
  EXPECT_EQ(cores(), 2);
}

TEST_F(CpuLimits, TheFirstVersionCountsToo) {
  write("groups", "4:memory:/other\n3:cpu,cpuacct:/job\n0::/\n");
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), INT_MAX);
  write("cpu,cpuacct/job/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(cores(), 4);
}

TEST_F(CpuLimits, WhatIsNoNumberIsNoLimit) {
  write("groups", "0::/job\nnonsense\n::\n");
  write("job/cpu.max", "many 100000\n");
  EXPECT_EQ(cores(), INT_MAX);
}

}  // namespace
}  // namespace infeed::test
