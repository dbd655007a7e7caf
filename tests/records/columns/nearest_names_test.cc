#include <gtest/gtest.h>

#include <infeed/records/detail/nearest_names.h>

namespace infeed::test {
namespace {

TEST(NearestNames, DistanceCountsLettersAndSwappedNeighbours) {
  EXPECT_EQ(detail::edit_distance("", ""), 0U);
  EXPECT_EQ(detail::edit_distance("", "abc"), 3U);
  EXPECT_EQ(detail::edit_distance("label", "label"), 0U);
  EXPECT_EQ(detail::edit_distance("label", "lable"), 1U) << "swapped";
  EXPECT_EQ(detail::edit_distance("ab", "ba"), 1U) << "swapped";
  EXPECT_EQ(detail::edit_distance("label", "labels"), 1U) << "inserted";
  EXPECT_EQ(detail::edit_distance("label", "lbel"), 1U) << "left out";
  EXPECT_EQ(detail::edit_distance("label", "lahel"), 1U) << "changed";
  EXPECT_EQ(detail::edit_distance("kitten", "sitting"), 3U);
}

}  // namespace
}  // namespace infeed::test
