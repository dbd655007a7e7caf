#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include <infeed/pipeline/range.h>
#include <infeed/pipeline/sample_from_datasets.h>

#include "pipeline/suite/resumes_anywhere.h"
#include "pipeline/suite/stream.h"

namespace infeed::test {
namespace {

// Weights that would make sample_from_datasets draw for years: next to nothing, or at a draw that
// no program lives to make.

TEST(SampleFarWeights, NextToNothingIsDrawnOnceTheOthersHaveEnded) {
  const auto mixed = sample_from_datasets(std::vector{range(3), range(10, 22), range(30, 42)},
                                          {.weights = {1, 1e-20, 1e-20}, .seed = 5});
  const Stream whole = stream_of(mixed);
  ASSERT_EQ(whole.size(), 27);
  EXPECT_EQ(Stream(whole.begin(), whole.begin() + 3), numbers({0, 1, 2}));
  const Stream others(whole.begin() + 3, whole.end());
  EXPECT_FALSE(std::ranges::is_sorted(others)) << "the other two are mixed";
  expect_resumes_anywhere(mixed, whole, {.bookmark_every = 1});
}

TEST(SampleFarWeights, DrawsBeforeAPointFarAwayArePassedOver) {
  const Stream expected = numbers({0, 1, 2, 10, 11, 12, 13});
  for (const WeightChange change : {WeightChange::linear, WeightChange::at_once}) {
    const SampleOptions options{
        .weights = {1, 0},
        .schedule = {{.draw = std::uint64_t{1} << 59, .weights = {2, 0}},
                     {.draw = std::uint64_t{1} << 60, .weights = {0, 1}}},
        .change = change,
        .seed = 5,
    };
    const std::vector<Dataset<std::int64_t>> datasets{range(3), range(10, 14)};
    EXPECT_EQ(stream_of(sample_from_datasets(datasets, options)), expected);
    const auto size = [](std::int64_t number) { return number; };
    EXPECT_EQ(stream_of(sample_from_datasets(datasets, options, size)), expected);
  }
}

}  // namespace
}  // namespace infeed::test
