#include "engine/tuning/group_memory.h"

#include <cstdint>
#include <gtest/gtest.h>

#include "records/temporary_files.h"

namespace infeed::test {
namespace {

/// A folder with the files that the kernel would show.
class GroupMemory : public ::testing::Test {
 protected:
  detail::GroupMemory seen() const {
    return detail::group_memory(folder_.path().string(), (folder_.path() / "groups").string());
  }

  const TemporaryFolder folder_;
};

TEST_F(GroupMemory, WithoutALimitThereIsNone) {
  EXPECT_EQ(seen().limit_bytes, 0u);
  folder_.write("groups", "0::/job\n");
  folder_.write("job/memory.max", "max\n");
  folder_.write("job/memory.current", "1000\n");
  EXPECT_EQ(seen().limit_bytes, 0u);
}

/// The first version's largest number of pages stands for none.
TEST_F(GroupMemory, ALimitOfAnExbibyteIsNone) {
  folder_.write("groups", "0::/job\n");
  folder_.write("job/memory.max", "1152921504606846975\n");
  EXPECT_EQ(seen().limit_bytes, (std::uint64_t{1} << 60) - 1);
  folder_.write("job/memory.max", "1152921504606846976\n");
  EXPECT_EQ(seen().limit_bytes, 0u);
  folder_.write("job/memory.max", "1\n");
  EXPECT_EQ(seen().limit_bytes, 1u);
  EXPECT_EQ(seen().in_use_bytes, 0u) << "without an account";
}

TEST_F(GroupMemory, TheGroupWithTheLeastRoomCountsAndItsPageCacheDoesNot) {
  folder_.write("groups", "0::/job/step\n");
  folder_.write("job/memory.max", "10000\n");
  folder_.write("job/memory.current", "9000\n");
  folder_.write("job/memory.stat", "anon 2000\nfile 7000\ninactive_file 4000\nactive_file 2500\n");
  EXPECT_EQ(seen().limit_bytes, 10'000u);
  EXPECT_EQ(seen().in_use_bytes, 2500u);
  folder_.write("job/step/memory.max", "max\n");
  folder_.write("job/step/memory.high", "3000\n");
  folder_.write("job/step/memory.current", "2000\n");
  EXPECT_EQ(seen().limit_bytes, 3000u) << "the kernel slows it down from there on";
  EXPECT_EQ(seen().in_use_bytes, 2000u);
}

TEST_F(GroupMemory, TheLowerOfTwoLimitsCounts) {
  folder_.write("groups", "0::/\n");
  folder_.write("memory.current", "1000\n");
  folder_.write("memory.max", "5000\n");
  folder_.write("memory.high", "8000\n");
  EXPECT_EQ(seen().limit_bytes, 5000u);
  folder_.write("memory.high", "4000\n");
  EXPECT_EQ(seen().limit_bytes, 4000u);
  folder_.write("memory.high", "0\n");
  EXPECT_EQ(seen().limit_bytes, 5000u);
  EXPECT_EQ(seen().in_use_bytes, 1000u);
  folder_.write("memory.stat", "active_file 600\ninactive_file 500\n");
  EXPECT_EQ(seen().in_use_bytes, 0u) << "never less than nothing";
}

TEST_F(GroupMemory, OfEqualGroupsThatOfTheProcessCounts) {
  folder_.write("groups", "0::/job\n");
  folder_.write("memory.max", "7000\n");
  folder_.write("memory.current", "6000\n");
  folder_.write("job/memory.max", "3000\n");
  folder_.write("job/memory.current", "2000\n");
  EXPECT_EQ(seen().limit_bytes, 3000u);
  folder_.write("memory.current", "9000\n");
  EXPECT_EQ(seen().limit_bytes, 7000u) << "no room is less than some";
}

TEST_F(GroupMemory, TheFirstVersionCountsToo) {
  folder_.write("groups", "4:memory:/job\n0::/\n");
  folder_.write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(seen().limit_bytes, 0u);
  folder_.write("memory/job/memory.limit_in_bytes", "5000\n");
  folder_.write("memory/job/memory.usage_in_bytes", "4000\n");
  folder_.write("memory/job/memory.stat", "cache 1\ninactive_file 1\ntotal_inactive_file 3000\n");
  EXPECT_EQ(seen().limit_bytes, 5000u);
  EXPECT_EQ(seen().in_use_bytes, 1000u);
}

}  // namespace
}  // namespace infeed::test
