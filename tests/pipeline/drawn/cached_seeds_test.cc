#include <algorithm>

#include <infeed/infeed.h>

#include "matchers.h"
#include "pipeline/drawn/described_anew.h"

// Reading a full cache opens no stage before it. Its checkpoint must still hold the seeds that the
// inner datasets there drew: the next process has an empty cache.
namespace infeed::test {
namespace {

auto shuffled(std::int64_t x) { return range(10 * x, 10 * x + 6) | shuffle({.buffer = 6}); }

TEST(CachedSeeds, OfInnerDatasetsStandInTheCheckpointsOfAllWhoReadTheCache) {
  expect_goes_on_when_described_anew(1, [] { return range(5) | flat_map(shuffled) | cache(); });
  for (const int parallelism : {1, 2}) {
    expect_goes_on_when_described_anew(1, [&] {
      return range(5) | interleave(shuffled, {.cycle_length = 3, .parallelism = parallelism}) |
             cache() | prefetch();
    });
  }
}

TEST(CachedSeeds, GoOnFromOneCacheToTheNext) {
  expect_goes_on_when_described_anew(1, [] {
    return range(5) | flat_map(shuffled) | cache() | map([](std::int64_t x) { return 2 * x; }) |
           cache() | shuffle({.buffer = 9}) | repeat(2);
  });
  expect_goes_on_when_described_anew(1, [] {
    return range(3) | flat_map(shuffled) | cache() |
           flat_map([](std::int64_t x) { return range(x, x + 3) | shuffle({.buffer = 3}); }) |
           cache();
  });
}

TEST(CachedSeeds, OfSeveralCachesStandThereEach) {
  expect_goes_on_when_described_anew(1, [] {
    const auto numbers = [] { return range(5) | flat_map(shuffled) | cache(); };
    return zip(numbers(), numbers()) | map([](const std::tuple<std::int64_t, std::int64_t>& both) {
             return 100 * std::get<0>(both) + std::get<1>(both);
           });
  });
}

TEST(CachedSeeds, OfACacheInAnInnerDatasetAreThatOfTheOutermost) {
  const auto describe = [] {
    const auto cached = range(6) | shuffle({.buffer = 6}) | cache();
    return range(4) | flat_map([cached](std::int64_t) { return cached; });
  };
  expect_goes_on_when_described_anew(1, describe);
  // The content is fixed, in one order for ever.
  const auto dataset = describe();
  const Stream whole = stream_of(dataset);
  EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + 6, whole.begin() + 6));
  EXPECT_EQ(stream_of(dataset), whole);
  expect_goes_on_when_described_anew(1, [] {
    const auto cached = range(3) | flat_map(shuffled) | cache();
    return range(2) | flat_map([cached](std::int64_t) {
             return range(2) | interleave([cached](std::int64_t) { return cached; });
           });
  });
}

TEST(CachedSeeds, OfTwoThatReadOneCacheAreEachTheirOwn) {
  expect_goes_on_when_described_anew(13, [] {
    const auto cached = range(6) | shuffle({.buffer = 6}) | cache();
    const auto some = [cached] {
      return range(2) | flat_map([cached](std::int64_t) { return cached; });
    };
    return some() | concatenate(some());
  });
}

TEST(CachedSeeds, AreNotThoseOfWhoReadTheCacheOutside) {
  expect_goes_on_when_described_anew(1, [] {
    const auto cached = range(60) | shuffle({.buffer = 60}) | cache();
    stream_of(cached);
    return range(2) | flat_map([cached](std::int64_t) { return cached; });
  });
}

TEST(CachedSeeds, ThatNobodyDrewFromStandNowhere) {
  const auto dataset =
      range(3) | flat_map([](std::int64_t x) { return range(x, x + 4); }) | cache();
  stream_of(dataset);
  auto second = dataset.iterate();
  take_stream(second, 5);
  EXPECT_THAT(second.checkpoint().to_text(), Not(HasSubstr("seed")));
}

}  // namespace
}  // namespace infeed::test
