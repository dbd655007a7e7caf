#include <infeed/pipeline/range.h>
#include <infeed/pipeline/take.h>

#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

TEST(Take, PassesTheSuite) {
  for (const std::int64_t count : {0, 1, 4, 257}) {
    SCOPED_TRACE(count);
    run_stage_suite([count](auto dataset) { return dataset | take(count); },
                    [count](Slots in) {
                      in.resize(std::min(in.size(), static_cast<std::size_t>(count)));
                      return show_all(in);
                    });
  }
}

TEST(Take, NegativeTakesAll) {
  run_stage_suite_on<std::int64_t>([](auto dataset) { return dataset | take(-1); },
                                   [](const Slots& in) { return show_all(in); });
}

TEST(Take, EndsAnEndlessSource) {
  EXPECT_EQ(stream_of(counter() | take(3)), numbers({0, 1, 2}));
  EXPECT_EQ((counter() | take(3)).cardinality(), Cardinality::finite(3));
  EXPECT_EQ((range(2) | take(3)).cardinality(), Cardinality::finite(2));
  EXPECT_EQ((range(2) | take(-1)).cardinality(), Cardinality::finite(2));
}

}  // namespace
}  // namespace infeed::test
