#include <limits>

#include <infeed/pipeline/range.h>
#include <infeed/pipeline/take.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

TEST(Range, PassesTheSuite) {
  run_source_suite([] { return range(0); }, {});
  run_source_suite([] { return range(1); }, {"0"});
  run_source_suite([] { return range(7, 25, 4); }, numbers({7, 11, 15, 19, 23}));
  run_source_suite([] { return range(600); }, show_all(plain_slots(600)));
}

TEST(Range, CountsDown) {
  EXPECT_EQ(stream_of(range(10, 0, -3)), numbers({10, 7, 4, 1}));
  EXPECT_EQ(stream_of(range(0, 10, -1)), Stream());
  EXPECT_EQ(stream_of(range(3, 3)), Stream());
  EXPECT_EQ(stream_of(range(5, 3)), Stream());
}

TEST(Range, HoldsAtTheLimitsOfItsType) {
  EXPECT_EQ(stream_of(range(kLargest - 2, kLargest)), numbers({kLargest - 2, kLargest - 1}));
  EXPECT_EQ(stream_of(range(kSmallest, kLargest, kLargest)),
            numbers({kSmallest, -1, kLargest - 1}));
  EXPECT_EQ(stream_of(range(kLargest, kSmallest, kSmallest)), numbers({kLargest, -1}));
  EXPECT_EQ(range(kSmallest + 1, kLargest).cardinality(),
            Cardinality::finite(std::numeric_limits<std::uint64_t>::max() - 1));
}

TEST(Range, KnowsItsLength) {
  EXPECT_EQ(range(10).cardinality(), Cardinality::finite(10));
  EXPECT_EQ(range(0, 10, 3).cardinality(), Cardinality::finite(4));
  EXPECT_EQ(range(0, 9, 3).cardinality(), Cardinality::finite(3));
  EXPECT_EQ(range(10, 0, -3).cardinality(), Cardinality::finite(4));
  EXPECT_TRUE(counter().cardinality().is_infinite());
}

TEST(Range, RefusesStepZero) {
  const Error error = error_of([] { range(0, 10, 0); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(), "range: step is 0; give a step that gets from start to stop");
}

TEST(Counter, GoesOnForEver) {
  run_source_suite([] { return counter(5, -2) | take(300); },
                   [] {
                     Stream stream;
                     for (std::int64_t i = 0; i < 300; ++i)
                       stream.push_back(std::to_string(5 - 2 * i));
                     return stream;
                   }());
  EXPECT_EQ(stream_of(counter(kLargest), {}, 2), numbers({kLargest, kSmallest}));
}

TEST(Counter, ResumesFarAway) {
  Checkpoint checkpoint = counter(3).iterate().checkpoint();
  checkpoint.position = std::uint64_t{1} << 60;
  auto iterator = counter(3).iterate({.resume = checkpoint});
  EXPECT_EQ(take_stream(iterator, 2), numbers({(1LL << 60) + 3, (1LL << 60) + 4}));
}

}  // namespace
}  // namespace infeed::test
