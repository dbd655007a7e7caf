#include "engine/threads/throttling.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "records/temporary_files.h"

namespace infeed::test {
namespace {

/// A folder with the files that the kernel would show.
class ThrottlingAccounts : public ::testing::Test {
 protected:
  detail::ThrottlingAccounts accounts() const {
    return detail::ThrottlingAccounts(root_.string(), (root_ / "groups").string());
  }

  const TemporaryFolder folder_;
  const std::filesystem::path& root_ = folder_.path();
};

TEST_F(ThrottlingAccounts, WithoutGroupsNothingIsHeldBack) {
  EXPECT_EQ(accounts().read().held_back_ns, 0U);
  EXPECT_EQ(accounts().read().times, 0U);
}

TEST_F(ThrottlingAccounts, TheGroupThatIsHeldBackLongestCounts) {
  folder_.write("groups", "0::/job/step\n");
  folder_.write("job/step/cpu.stat",
                "usage_usec 9\nnr_periods 5\nnr_throttled 2\nthrottled_usec 30\n");
  folder_.write("job/cpu.stat", "usage_usec 12\nnr_periods 5\nnr_throttled 3\nthrottled_usec 40\n");
  const detail::ThrottlingAccounts two = accounts();
  EXPECT_EQ(two.read().held_back_ns, 40'000U);
  EXPECT_EQ(two.read().times, 3U);
  write_at(folder_.file("job/step/cpu.stat"), 0,
           "usage_usec 9\nnr_periods 5\nnr_throttled 7\nthrottled_usec 130\n");
  EXPECT_EQ(two.read().held_back_ns, 130'000U) << "the files that are open are read anew";
  EXPECT_EQ(two.read().times, 7U);
}

TEST_F(ThrottlingAccounts, OfEqualGroupsTheUpperOneCounts) {
  folder_.write("groups", "0::/job\n");
  folder_.write("job/cpu.stat", "nr_throttled 2\nthrottled_usec 30\n");
  folder_.write("cpu.stat", "nr_throttled 3\nthrottled_usec 30\n");
  EXPECT_EQ(accounts().read().times, 3U);
}

TEST_F(ThrottlingAccounts, NamesAreWholeWords) {
  folder_.write("groups", "0::/job\n");
  folder_.write("job/cpu.stat",
                "nr_throttled\nnr_throttled_more 9\nmore_nr_throttled 8\nnr_throttled 4\n"
                "throttled_usec_more 7\nthrottled_usec=6\nthrottled_usec 5");
  EXPECT_EQ(accounts().read().times, 4U);
  EXPECT_EQ(accounts().read().held_back_ns, 5000U);
}

TEST_F(ThrottlingAccounts, WithoutANumberNothingIsHeldBack) {
  folder_.write("groups", "0::/job\n");
  folder_.write("job/cpu.stat", "nr_throttled \nthrottled_usec many\n");
  EXPECT_EQ(accounts().read().times, 0U);
  EXPECT_EQ(accounts().read().held_back_ns, 0U);
}

TEST_F(ThrottlingAccounts, TheFirstVersionCountsNanoseconds) {
  folder_.write("groups", "3:cpu,cpuacct:/job\n0::/\n");
  folder_.write("cpu/job/cpu.stat", "nr_periods 5\nnr_throttled 4\nthrottled_time 123456\n");
  EXPECT_EQ(accounts().read().held_back_ns, 123'456U);
  EXPECT_EQ(accounts().read().times, 4U);
}

TEST_F(ThrottlingAccounts, AProcessMayBeMovedToAnotherGroup) {
  folder_.write("groups", "0::/first\n");
  folder_.write("first/cpu.stat", "nr_throttled 1\nthrottled_usec 1\n");
  detail::ThrottlingAccounts own = accounts();
  folder_.write("groups", "0::/second\n");
  folder_.write("second/cpu.stat", "nr_throttled 2\nthrottled_usec 2\n");
  EXPECT_EQ(own.read().held_back_ns, 1000U);
  own.find_groups();
  EXPECT_EQ(own.read().held_back_ns, 2000U);
}

}  // namespace
}  // namespace infeed::test
