#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "shuffle/keyed_permutation.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using detail::KeyedPermutation;

void expect_bijective(std::uint64_t count, std::uint64_t seed) {
  const KeyedPermutation permutation(count, seed, 0);
  std::vector<bool> seen(count, false);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t to = permutation(i);
    ASSERT_LT(to, count);
    ASSERT_FALSE(seen[to]) << to << " twice, of " << count;
    seen[to] = true;
  }
}

TEST(KeyedPermutation, IsBijective) {
  for (std::uint64_t count = 1; count <= 4096; ++count) {
    expect_bijective(count, count);
    if (HasFatalFailure()) return;
  }
  for (int power = 13; power <= 20; ++power) {
    const std::uint64_t count = std::uint64_t{1} << power;
    for (const std::uint64_t n : {count - 1, count, count + 1}) expect_bijective(n, 7);
  }
}

TEST(KeyedPermutation, StaysInsideOfHugeRanges) {
  for (const std::uint64_t count : {(std::uint64_t{1} << 63) + 1, UINT64_MAX}) {
    const KeyedPermutation permutation(count, 1, 0);
    for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_LT(permutation(count - 1 - i), count);
  }
}

/// Each of 10 elements should be first as often as the others: chi-squared with 9 degrees of
/// freedom is above 33.7 once in 10,000 times.
TEST(KeyedPermutation, PrefersNobody) {
  constexpr int kSeeds = 20'000;
  for (const std::uint64_t index : {0, 3, 9}) {
    std::array<int, 10> counts{};
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      ++counts[KeyedPermutation(10, seed, 0)(index)];
    }
    double chi_squared = 0;
    for (const int count : counts) chi_squared += (count - 2000.0) * (count - 2000.0) / 2000.0;
    EXPECT_LT(chi_squared, 33.7) << index;
  }
}

TEST(KeyedPermutation, SeparatesNeighbours) {
  const KeyedPermutation permutation(1'000'000, 5, 0);
  double distance = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    distance +=
        std::abs(static_cast<double>(permutation(i)) - static_cast<double>(permutation(i + 1)));
  }
  EXPECT_NEAR(distance / 10'000, 1'000'000 / 3.0, 10'000);
}

TEST(GlobalShuffle, PassesTheSuite) {
  for (const std::int64_t count : {0, 1, 2, 10, 300, 1000}) {
    SCOPED_TRACE(count);
    const auto shuffled = range(count) | global_shuffle({.seed = 3});
    const KeyedPermutation permutation(static_cast<std::uint64_t>(count), 3, 0);
    std::vector<std::int64_t> expected;
    for (std::int64_t i = 0; i < count; ++i) {
      expected.push_back(static_cast<std::int64_t>(permutation(static_cast<std::uint64_t>(i))));
    }
    run_source_suite([&] { return range(count) | global_shuffle({.seed = 3}); }, numbers(expected));
    EXPECT_EQ(shuffled.cardinality(), Cardinality::finite(static_cast<std::uint64_t>(count)));
  }
}

TEST(GlobalShuffle, KeepsErrorsAndPlacesOfMaps) {
  const auto make = [](auto shuffled) {
    return slices({0, 10, 20, 30, 40, 50, 60}) | enumerate() |
           map(
               [](const std::pair<std::int64_t, int>& x, Rng& rng) {
                 if (x.first == 4) throw std::runtime_error("four");
                 return x.first * 1000 + x.second + rng.below(10) * 0 + rng.below(5) * 100'000;
               },
               {.seed = 9}) |
           shuffled;
  };
  // The same elements, the same random numbers: only the order differs.
  Stream plain = stream_of(make([](const auto& dataset) { return dataset; }));
  const Stream shuffled = stream_of(make(global_shuffle({.seed = 1})));
  EXPECT_NE(shuffled, plain);
  Stream sorted = shuffled;
  std::sort(sorted.begin(), sorted.end());
  std::sort(plain.begin(), plain.end());
  EXPECT_EQ(sorted, plain);
  run_source_suite([&] { return make(global_shuffle({.seed = 1})); }, shuffled);
}

TEST(GlobalShuffle, ReshufflesEachPassUnlessTold) {
  const auto twice = [](bool reshuffle) {
    return stream_of(range(100) |
                     global_shuffle({.seed = 1, .reshuffle_each_iteration = reshuffle}) |
                     repeat(2));
  };
  const auto half = [](const Stream& all, int which) {
    return Stream(all.begin() + 100 * which, all.begin() + 100 * which + 100);
  };
  EXPECT_NE(half(twice(true), 0), half(twice(true), 1));
  EXPECT_EQ(half(twice(false), 0), half(twice(false), 1));
}

TEST(GlobalShuffle, StacksAndShards) {
  const auto all = range(1000) | global_shuffle({.seed = 1}) | global_shuffle({.seed = 2});
  Stream shards;
  for (const std::uint64_t index : {0, 1, 2}) {
    const Stream part = stream_of(all | shard({.count = 3, .index = index}));
    shards.insert(shards.end(), part.begin(), part.end());
  }
  std::sort(shards.begin(), shards.end());
  Stream expected = stream_of(range(1000));
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(shards, expected);
}

TEST(GlobalShuffle, ResumesAnywhereAtOnce) {
  const auto all = range(1'000'000'000'000) | global_shuffle({.seed = 1});
  Checkpoint checkpoint = all.iterate().checkpoint();
  checkpoint.position = 999'999'999'990;
  EXPECT_EQ(stream_of(all, {.resume = checkpoint}).size(), 10);
}

TEST(GlobalShuffle, RefusesWhatHasNoPositions) {
  const std::string rest =
      "' can't be asked for by position; put it right behind range, slices or indexed_records "
      "(or a serial map of them) and the rest behind it, or use shuffle with a buffer";
  const auto even = [](std::int64_t x) { return x % 2 == 0; };
  EXPECT_EQ(error_of([&] { range(9) | filter(even) | global_shuffle(); }).message(),
            "global_shuffle: elements of 'filter" + rest);
  EXPECT_EQ(
      error_of([&] { range(9) | map(even, {.parallelism = 2}) | global_shuffle(); }).message(),
      "global_shuffle: elements of 'map" + rest);
  EXPECT_EQ(error_of([&] { counter() | global_shuffle(); }).message(),
            "global_shuffle: elements of 'counter" + rest);
}

}  // namespace
}  // namespace infeed::test
