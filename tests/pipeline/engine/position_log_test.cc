#include <gtest/gtest.h>
#include <vector>

#include "engine/recording/place_log.h"
#include "pipeline/suite/random_seed.h"

namespace infeed::test {
namespace {

using detail::PositionLog;

TEST(PositionLog, RowsOfWholeInputsTakeOneEntry) {
  PositionLog log;
  constexpr std::uint64_t kEach = 3;
  constexpr std::uint64_t kInputs = 10'000;  // more than there are entries
  for (std::uint64_t i = 0; i < kInputs; ++i) log.add_rows(i * kEach, kEach, 7 + i, kEach);
  for (std::uint64_t position = 0; position < kInputs * kEach; position += 501) {
    const auto inputs = log.find(position);
    ASSERT_TRUE(inputs);
    EXPECT_EQ(inputs->position, 7 + position / kEach);
    EXPECT_EQ(inputs->count, 1U);
  }
  EXPECT_FALSE(log.find(kInputs * kEach));
}

/// Whatever is taken and in which pieces, the input of each element is found again.
TEST(PositionLog, FindsTheInputOfEachElement) {
  RandomSource random;
  for (int round = 0; round < 50; ++round) {
    PositionLog log;
    std::vector<std::uint64_t> input_of;
    for (std::uint64_t input = 0; input < 1000; ++input) {
      const std::uint64_t rows = 1 + random.below(round % 2 == 0 ? 2 : 5);
      // Some of its rows fail; the others come at once or in two pieces.
      const std::uint64_t taken = random.below(4) == 0 ? random.below(rows + 1) : rows;
      const std::uint64_t first = random.below(4) == 0 ? random.below(taken + 1) : taken;
      log.add_rows(input_of.size(), first, input, rows);
      log.add(input_of.size() + first, taken - first, {input, 1});
      input_of.insert(input_of.end(), taken, input);
    }
    for (std::size_t position = 0; position < input_of.size(); ++position) {
      const auto inputs = log.find(position);
      ASSERT_TRUE(inputs) << position;
      ASSERT_EQ(inputs->position, input_of[position]) << position;
      ASSERT_EQ(inputs->count, 1U);
    }
  }
}

}  // namespace
}  // namespace infeed::test
