#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(AssertCardinality, PassesTheSuite) {
  for (const std::size_t size : {0, 1, 33, 300}) {
    SCOPED_TRACE(size);
    run_stage_suite(
        [size](auto dataset) {
          return dataset | assert_cardinality(static_cast<std::int64_t>(size));
        },
        // Fewer if a skip_errors stands before it.
        [size](const Slots& in) {
          Stream stream = show_all(in);
          if (in.size() < size) {
            stream.push_back(
                "!! assert_cardinality: the input ended after " + std::to_string(in.size()) +
                " elements, " + std::to_string(size) +
                " were promised; give their true number, or look where they were lost");
          }
          return stream;
        },
        {.sizes = {size}});
  }
}

auto odd_ones(std::int64_t count) {
  return range(2 * count) | filter([](std::int64_t x) { return x % 2 == 1; });
}

TEST(AssertCardinality, TellsTheStagesBehindIt) {
  const auto dataset = odd_ones(10) | assert_cardinality(10);
  EXPECT_EQ(dataset.cardinality(), Cardinality::finite(10));
  EXPECT_EQ((dataset | batch(3)).cardinality(), Cardinality::finite(4));
  EXPECT_EQ(stream_of(dataset).size(), 10);
}

/// Returns the error of next() behind the first `before` elements, none of which fails.
template <class T>
Error error_behind(const Dataset<T>& dataset, std::size_t before, IterateOptions options = {}) {
  auto iterator = dataset.iterate(std::move(options));
  EXPECT_EQ(take_stream(iterator, before).size(), before);
  return error_of([&] { iterator.next(); });
}

TEST(AssertCardinality, RefusesAPassThatEndsEarlier) {
  const auto dataset = odd_ones(10) | assert_cardinality(12);
  for (const Error& error : {error_behind(dataset, 10), error_behind(dataset | prefetch(2), 10),
                             error_of([&] { (dataset | skip(11)).iterate().next(); })}) {
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(error.message(),
              "assert_cardinality: the input ended after 10 elements, 12 were promised; give their "
              "true number, or look where they were lost");
  }
}

TEST(AssertCardinality, RefusesAPassThatGoesOn) {
  const auto dataset = odd_ones(10) | assert_cardinality(7);
  for (const Error& error : {error_behind(dataset, 7), error_behind(dataset | prefetch(2), 7),
                             error_of([&] { (dataset | skip(8)).iterate().next(); })}) {
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(error.message(),
              "assert_cardinality: there are more than the 7 elements that were promised; give "
              "their true number, or put take(7) before it");
  }
  EXPECT_EQ(error_behind(odd_ones(1) | assert_cardinality(0), 0).code(),
            ErrorCode::failed_precondition);
}

/// Reading may have failed, and the number be right.
TEST(AssertCardinality, NamesAnErrorThatComesBehind) {
  const auto dataset = odd_ones(10) | map([](std::int64_t x) {
                         if (x == 15) throw Error(ErrorCode::data_loss, "damaged");
                         return x;
                       }) |
                       assert_cardinality(7);
  for (const Error& error : {error_behind(dataset, 7), error_behind(dataset | prefetch(2), 7),
                             error_of([&] { (dataset | skip(8)).iterate().next(); })}) {
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(error.message(),
              "assert_cardinality: there are more than the 7 elements that were promised; the next "
              "one is an error: damaged");
  }
}

TEST(AssertCardinality, IsNoPartOfTheCheckpoint) {
  auto iterator = odd_ones(10).iterate();
  take_stream(iterator, 6);
  EXPECT_EQ(stream_of(odd_ones(10) | assert_cardinality(10), {.resume = iterator.checkpoint()}),
            numbers({13, 15, 17, 19}));
  const auto wrong = odd_ones(10) | assert_cardinality(5);
  EXPECT_EQ(error_of([&] { wrong.iterate({.resume = iterator.checkpoint()}); }).code(),
            ErrorCode::failed_precondition);
}

TEST(AssertCardinality, AResumeAtAPassesEndDoesNotGoOnBehindABrokenPromise) {
  const auto dataset = odd_ones(10) | assert_cardinality(7) | repeat(3);
  auto iterator = dataset.iterate();
  take_stream(iterator, 7);
  EXPECT_EQ(error_behind(dataset, 0, {.resume = iterator.checkpoint()}).message(),
            error_of([&] { iterator.next(); }).message());
}

TEST(AssertCardinality, HasRandomAccessWhereItsInputDoes) {
  const auto shuffled = range(100) | assert_cardinality(100) | global_shuffle({.seed = 3});
  EXPECT_EQ(stream_of(shuffled), stream_of(range(100) | global_shuffle({.seed = 3})));
  EXPECT_EQ(error_of([] { range(100) | assert_cardinality(99) | global_shuffle(); }).code(),
            ErrorCode::invalid_argument);
}

TEST(AssertCardinality, RefusesANegativeCount) {
  EXPECT_EQ(error_of([] { range(3) | assert_cardinality(-1); }).message(),
            "assert_cardinality: count is -1; give 0 or more");
}

}  // namespace
}  // namespace infeed::test
