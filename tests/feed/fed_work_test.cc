#include <atomic>
#include <cstdint>
#include <gmock/gmock.h>

#include <infeed/feed.h>
#include <infeed/infeed.h>

#include "feed/fed_job.h"

/// How much workers do for a trainer.
namespace infeed::test {
namespace {

using testing::Each;
using testing::IsEmpty;

/// Each worker read ahead into the ranges of the others: two made a fifth of the batches twice.
TEST(Feed, NoBatchIsMadeTwiceAsLongAsNobodyIsLost) {
  constexpr std::int64_t kSteps = 90;
  for (int workers = 1; workers <= 3; ++workers) {
    SCOPED_TRACE(workers);
    std::atomic<std::int64_t> made{0};
    const auto count = [&made](std::int64_t i) {
      ++made;
      return i;
    };
    const FedJob job{.workers = workers,
                     .pipeline =
                         [&] {
                           return range(4 * kSteps) | map(count, {.parallelism = 2}) | batch(4) |
                                  in_columns() | prefetch(16);
                         },
                     .options = {.range_steps = 5}};
    const auto errors = job.run([](Feeder& feeder) {
      EXPECT_EQ(take_rest(feeder).size(), static_cast<std::size_t>(kSteps));
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
    EXPECT_EQ(made, 4 * kSteps);
  }
}

}  // namespace
}  // namespace infeed::test
