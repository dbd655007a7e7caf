#include "map/job_threads.h"

#include <gtest/gtest.h>

#include <infeed/pipeline/iterate_options.h>

namespace infeed::test {
namespace {

TEST(JobThreads, ABlockingFunctionTakesItsShareOfTheBudgetOnce) {
  constexpr int kWanted = 16;
  IteratorContext run({.threads_max = 12});
  IteratorContext twin({.threads_max = 12});
  twin.executor();  // takes its share first, as in `run`
  detail::ThreadShare share(twin.threads(), /*is_wanted=*/false);
  const int half = share.grow(kWanted);
  ASSERT_LT(half, kWanted);

  detail::HandOff hand_off;
  detail::JobThreads threads(run, hand_off, {.name = "map", .count = 1, .count_blocking = kWanted},
                             {.claim = [](auto) -> detail::Job* { return nullptr; },
                              .has_work = [] { return false; },
                              .run = [](auto&, auto&) {}});
  {
    const auto lock = hand_off.lock();
    while (!threads.note_job(/*waited=*/true)) {
    }
    EXPECT_EQ(threads.count(), half);
  }
  hand_off.stop();
}

}  // namespace
}  // namespace infeed::test
