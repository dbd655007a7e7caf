#include <cstddef>
#include <gtest/gtest.h>
#include <numeric>
#include <span>
#include <vector>

#include <infeed/records/detail/sum_so_far.h>

namespace infeed {
namespace {

std::size_t total_of(std::span<const std::size_t> values) {
  return std::accumulate(values.begin(), values.end(), std::size_t{0});
}

std::size_t asked(detail::SumSoFar& sum, const std::vector<std::size_t>& values) {
  return sum.of(std::span<const std::size_t>(values), total_of);
}

TEST(SumSoFar, LooksAtNewValuesOnly) {
  detail::SumSoFar sum;
  EXPECT_EQ(asked(sum, {}), 0U);
  EXPECT_EQ(asked(sum, {3, 4}), 7U);
  EXPECT_EQ(asked(sum, {100, 200, 5}), 12U) << "the first two aren't looked at again";
  EXPECT_EQ(asked(sum, {100, 200, 300}), 12U);
}

TEST(SumSoFar, LooksAnewAtFewerValues) {
  detail::SumSoFar sum;
  sum.truncate(1);  // nothing was looked at
  EXPECT_EQ(asked(sum, {1, 2, 3}), 6U);
  sum.truncate(3);
  EXPECT_EQ(asked(sum, {10, 20, 30, 4}), 10U);
  sum.truncate(2);
  EXPECT_EQ(asked(sum, {10, 20}), 30U);
}

}  // namespace
}  // namespace infeed
