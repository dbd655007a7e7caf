#include <limits>

#include <infeed/pipeline/enumerate.h>
#include <infeed/pipeline/range.h>

#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

TEST(Enumerate, PassesTheSuite) {
  for (const std::int64_t start : {0, -7}) {
    run_stage_suite(
        [start](auto dataset) { return dataset | enumerate(start); },
        [start](const Slots& in) {
          Stream stream;
          std::int64_t number = start;  // an error takes a number, too
          for (const Slot& slot : in) {
            stream.push_back(slot.fails ? show(slot) : fmt::format("({}, {})", number, slot.value));
            ++number;
          }
          return stream;
        });
  }
}

TEST(Enumerate, GoesOnBehindTheLargestNumber) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const auto pairs = (range(2) | enumerate(kLargest)).collect();
  EXPECT_EQ(pairs.front().first, kLargest);
  EXPECT_EQ(pairs.back().first, std::numeric_limits<std::int64_t>::min());
}

TEST(Enumerate, KnowsItsLength) {
  EXPECT_EQ((range(10) | enumerate()).cardinality(), Cardinality::finite(10));
}

}  // namespace
}  // namespace infeed::test
