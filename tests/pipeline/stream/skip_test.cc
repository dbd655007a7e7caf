#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

TEST(Skip, PassesTheSuite) {
  for (const std::int64_t count : {0, 1, 4, 257}) {
    SCOPED_TRACE(count);
    run_stage_suite([count](auto dataset) { return dataset | skip(count); },
                    [count](Slots in) {
                      const std::ptrdiff_t gone = std::min<std::ptrdiff_t>(count, std::ssize(in));
                      in.erase(in.begin(), in.begin() + gone);
                      return show_all(in);
                    });
  }
}

TEST(Skip, NegativeSkipsAll) {
  run_stage_suite_on<std::int64_t>([](auto dataset) { return dataset | skip(-1); },
                                   [](const Slots&) { return Stream(); });
}

TEST(Skip, CallsNoFunctionForWhatItPassesOver) {
  std::atomic<int> calls = 0;
  const auto counted = [&calls](std::int64_t x) {
    ++calls;
    return x;
  };
  EXPECT_EQ(stream_of(range(1000) | map(counted) | skip(997)), numbers({997, 998, 999}));
  EXPECT_EQ(calls, 3);
}

TEST(Skip, KnowsItsLength) {
  EXPECT_EQ((range(10) | skip(4)).cardinality(), Cardinality::finite(6));
  EXPECT_EQ((range(10) | skip(40)).cardinality(), Cardinality::finite(0));
  EXPECT_EQ((range(10) | skip(-1)).cardinality(), Cardinality::finite(0));
  EXPECT_TRUE((counter() | skip(4)).cardinality().is_infinite());
  EXPECT_EQ((counter() | skip(-1)).cardinality(), Cardinality::finite(0));
}

}  // namespace
}  // namespace infeed::test
