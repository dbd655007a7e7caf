#include <infeed/infeed.h>

#include "pipeline/suite/inner_sources.h"
#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

/// Pairs, which the suite can show.
template <class A, class B>
Dataset<std::pair<A, B>> zip_pairs(const Dataset<A>& a, const Dataset<B>& b) {
  return zip(a, b) | map([](std::tuple<A, B>&& both) {
           return std::pair<A, B>(std::move(std::get<0>(both)), std::move(std::get<1>(both)));
         });
}

/// TensorFlow's loop: sides from left to right, the first error or end decides.
Stream zip_model(const Slots& left, const Slots& right) {
  Stream stream;
  for (std::size_t i = 0;; ++i) {
    if (i >= left.size()) return stream;
    if (left[i].fails) {
      stream.push_back(show(left[i]));
    } else if (i >= right.size()) {
      return stream;
    } else if (right[i].fails) {
      stream.push_back(show(right[i]));
    } else {
      stream.push_back("(" + show(left[i]) + ", " + show(right[i]) + ")");
    }
  }
}

class ZipWith : public ::testing::TestWithParam<std::size_t> {
 protected:
  Slots other() const {
    return failing_slots(GetParam(), [](std::size_t i) { return i % 5 == 4 || i == 2; });
  }
};
INSTANTIATE_TEST_SUITE_P(Sizes, ZipWith, ::testing::Values(0, 1, 4, 5, 33, 290, 400));

TEST_P(ZipWith, PassesTheSuiteOnTheLeft) {
  run_stage_suite_on<std::int64_t>(
      [&](auto dataset) { return zip_pairs(dataset, listed<std::int64_t>(other())); },
      [&](const Slots& in) { return zip_model(in, other()); });
}

TEST_P(ZipWith, PassesTheSuiteOnTheRight) {
  run_stage_suite_on<std::int64_t>(
      [&](auto dataset) { return zip_pairs(listed<std::int64_t>(other()), dataset); },
      [&](const Slots& in) { return zip_model(other(), in); });
}

TEST(Zip, CarriesEveryKindOfElement) {
  const Slots other = failing_slots(300, [](std::size_t i) { return i % 50 == 7; });
  run_stage_suite(
      [&](auto dataset) {
        using T = typename decltype(dataset)::element_type;
        return zip_pairs(dataset, listed<T>(other, {Cut::Kind::random, 3}));
      },
      [&](const Slots& in) { return zip_model(in, other); });
}

TEST(Zip, OfThreeReportsTheFirstErrorAndStaysAligned) {
  const auto all = zip(failing_range(6, 2), failing_range(6, 2), failing_range(6, 4)) |
                   map([](const std::tuple<std::int64_t, std::int64_t, std::int64_t>& three) {
                     const auto [a, b, c] = three;
                     return a * 100 + b * 10 + c;
                   });
  run_source_suite([&] { return all; },
                   {"0", "111", "! element 2 is broken", "333", "! element 4 is broken", "555"});
}

TEST(Zip, EndsWithTheShortest) {
  const auto first = [](const auto& both) { return std::get<0>(both); };
  EXPECT_EQ(stream_of(zip(range(3), counter()) | map(first)), numbers({0, 1, 2}));
  EXPECT_EQ(stream_of(zip(counter(), range(2)) | map(first)), numbers({0, 1}));
  EXPECT_EQ(zip(range(3), counter(), range(2)).cardinality(), Cardinality::finite(2));
  EXPECT_EQ(zip(counter(), counter()).cardinality(), Cardinality::infinite());
  const auto some = range(9) | filter([](std::int64_t) { return true; });
  EXPECT_EQ(zip(range(3), some).cardinality(), Cardinality::unknown());
  EXPECT_EQ(zip(some, range(0)).cardinality(), Cardinality::finite(0));
}

TEST(Zip, AnErrorComesBeforeTheEndOfASideToItsRightOnly) {
  EXPECT_EQ(stream_of(zip(failing_range(3, 1), range(1)) |
                      map([](const auto& both) { return std::get<0>(both); })),
            (Stream{"0", "! element 1 is broken"}));
  EXPECT_EQ(stream_of(zip(range(1), failing_range(3, 1)) |
                      map([](const auto& both) { return std::get<0>(both); })),
            Stream{"0"});
}

TEST(Zip, PassingOverElementsIsNotEndedByWhatARunNeverReaches) {
  const auto first = [](const auto& both) { return std::get<0>(both); };
  const auto stream = [&](const auto& left, const auto& right, std::int64_t skipped) {
    return stream_of(zip(left, right) | map(first) | repeat(3) | skip(skipped));
  };
  const auto short_side = range(5) | filter([](std::int64_t) { return true; });
  EXPECT_EQ(stream(short_side, breaking(range(9)), 11), numbers({1, 2, 3, 4}));
  EXPECT_EQ(stream(short_side, breaking(range(6)), 5), numbers({0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
  for (const std::int64_t skipped : {1, 2, 3, 7}) {
    SCOPED_TRACE(skipped);
    EXPECT_TRUE(is_terminal(stream(short_side, breaking(range(2)), skipped).back()));
    EXPECT_TRUE(is_terminal(stream(breaking(range(2)), short_side, skipped).back()));
    EXPECT_LE(stream(short_side, breaking(range(2)), skipped).size(), 2);
  }
  EXPECT_EQ(
      stream(failing_range(2, 1), breaking(range(1)), 1),
      (Stream{"! element 1 is broken", "0", "! element 1 is broken", "0", "! element 1 is broken"}))
      << "the right side isn't asked for element 1";
  EXPECT_EQ(stream(failing_range(2, 1), breaking(range(1)), 2).size(), 4);
}

TEST(Zip, KeepsTheSidesApartInTheStatistics) {
  auto iterator = zip(range(3), range(5)).iterate();
  while (iterator.next()) {
  }
  int ranges = 0;
  for (const StageStatistics& stage : iterator.statistics().stages) ranges += stage.name == "range";
  EXPECT_EQ(ranges, 2);
}

}  // namespace
}  // namespace infeed::test
