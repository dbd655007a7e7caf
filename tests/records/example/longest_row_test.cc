#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include <infeed/records/detail/longest_row.h>

namespace infeed {
namespace {

TEST(LongestRow, IsLookedUpAmongNewRowsOnly) {
  std::vector<std::int64_t> splits = {0};
  detail::LongestRow longest;
  EXPECT_EQ(longest.length(splits), 0);
  splits = {0, 3, 4};
  EXPECT_EQ(longest.length(splits), 3);
  splits = {0, 100, 104, 106};  // the first two rows aren't looked at again
  EXPECT_EQ(longest.length(splits), 3);
  splits = {0, 100, 104, 106, 111};
  EXPECT_EQ(longest.length(splits), 5);
}

TEST(LongestRow, IsLookedUpAnewAmongFewerRows) {
  std::vector<std::int64_t> splits = {0, 1, 9, 11};
  detail::LongestRow longest;
  longest.truncate(2);  // nothing was looked at
  EXPECT_EQ(longest.length(splits), 8);
  longest.truncate(3);
  EXPECT_EQ(longest.length(splits), 8);
  longest.truncate(1);
  splits = {0, 1, 3, 6, 7};
  EXPECT_EQ(longest.length(splits), 3);
}

}  // namespace
}  // namespace infeed
