#include <infeed/pipeline/range.h>
#include <infeed/pipeline/take_while.h>

#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

TEST(TakeWhile, PassesTheSuite) {
  for (const std::int64_t end : {0, 1, 30, 299, 1000}) {
    SCOPED_TRACE(end);
    run_stage_suite(
        [end](auto dataset) {
          return dataset | take_while([end](const auto& x) { return value_of(x) < end; });
        },
        [end](const Slots& in) {
          Stream stream;
          for (const Slot& slot : in) {
            if (!slot.fails && slot.value >= end) break;
            stream.push_back(show(slot));
          }
          return stream;
        });
  }
}

TEST(TakeWhile, AnErrorOfThePredicateEndsNothing) {
  const auto some = range(10) | take_while([](std::int64_t x) {
                      if (x == 2) throw std::runtime_error("no idea");
                      return x < 4;
                    });
  run_source_suite([&] { return some; }, {"0", "1", "! no idea", "3"});
}

TEST(TakeWhile, EndsAnEndlessSource) {
  EXPECT_EQ(stream_of(counter() | take_while([](std::int64_t x) { return x < 700; })).size(), 700);
}

}  // namespace
}  // namespace infeed::test
