#include "engine/tuning/group_memory.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "records/temporary_files.h"

namespace infeed::test {
namespace {

/// A folder with the files that the kernel would show.
class GroupMemory : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& content) const {
    std::filesystem::create_directories((folder_.path() / file).parent_path());
    std::ofstream(folder_.path() / file) << content;
  }
  detail::GroupMemory seen() const {
    return detail::group_memory(folder_.path().string(), (folder_.path() / "groups").string());
  }

 private:
  const test::TemporaryFolder folder_;
};

TEST_F(GroupMemory, WithoutALimitThereIsNone) {
  EXPECT_EQ(seen().limit_bytes, 0u);
  write("groups", "0::/job\n");
  write("job/memory.max", "max\n");
  write("job/memory.current", "1000\n");
  EXPECT_EQ(seen().limit_bytes, 0u);
}

TEST_F(GroupMemory, TheGroupWithTheLeastRoomCountsAndItsPageCacheDoesNot) {
  write("groups", "0::/job/step\n");
  write("job/memory.max", "10000\n");
  write("job/memory.current", "9000\n");
  write("job/memory.stat", "anon 2000\nfile 7000\ninactive_file 4000\nactive_file 2500\n");
  EXPECT_EQ(seen().limit_bytes, 10'000u);
  EXPECT_EQ(seen().in_use_bytes, 2500u);
  write("job/step/memory.max", "max\n");
  write("job/step/memory.high", "3000\n");
  write("job/step/memory.current", "2000\n");
  EXPECT_EQ(seen().limit_bytes, 3000u) << "the kernel slows it down from there on";
  EXPECT_EQ(seen().in_use_bytes, 2000u);
}

TEST_F(GroupMemory, TheLowerOfTwoLimitsCounts) {
  write("groups", "0::/\n");
  write("memory.current", "1000\n");
  write("memory.max", "5000\n");
  write("memory.high", "8000\n");
  EXPECT_EQ(seen().limit_bytes, 5000u);
  write("memory.high", "4000\n");
  EXPECT_EQ(seen().limit_bytes, 4000u);
  write("memory.high", "0\n");
  EXPECT_EQ(seen().limit_bytes, 5000u);
  EXPECT_EQ(seen().in_use_bytes, 1000u);
  write("memory.stat", "active_file 600\ninactive_file 500\n");
  EXPECT_EQ(seen().in_use_bytes, 0u) << "never less than nothing";
}

TEST_F(GroupMemory, OfEqualGroupsThatOfTheProcessCounts) {
  write("groups", "0::/job\n");
  write("memory.max", "7000\n");
  write("memory.current", "6000\n");
  write("job/memory.max", "3000\n");
  write("job/memory.current", "2000\n");
  EXPECT_EQ(seen().limit_bytes, 3000u);
  write("memory.current", "9000\n");
  EXPECT_EQ(seen().limit_bytes, 7000u) << "no room is less than some";
}

TEST_F(GroupMemory, TheFirstVersionCountsToo) {
  write("groups", "4:memory:/job\n0::/\n");
  write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(seen().limit_bytes, 0u);
  write("memory/job/memory.limit_in_bytes", "5000\n");
  write("memory/job/memory.usage_in_bytes", "4000\n");
  write("memory/job/memory.stat", "cache 1\ninactive_file 1\ntotal_inactive_file 3000\n");
  EXPECT_EQ(seen().limit_bytes, 5000u);
  EXPECT_EQ(seen().in_use_bytes, 1000u);
}

}  // namespace
}  // namespace infeed::test
