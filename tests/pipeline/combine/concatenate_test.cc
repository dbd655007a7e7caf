#include <infeed/infeed.h>

#include "pipeline/suite/inner_sources.h"
#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

TEST(Concatenate, PassesTheSuiteAsFirst) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{300}}) {
    SCOPED_TRACE(size);
    const Slots second = failing_slots(size, [](std::size_t i) { return i % 7 == 3; });
    run_stage_suite(
        [second](auto dataset) {
          using T = typename decltype(dataset)::element_type;
          return dataset | concatenate(listed<T>(second));
        },
        [second](Slots in) {
          in.insert(in.end(), second.begin(), second.end());
          return show_all(in);
        });
  }
}

TEST(Concatenate, PassesTheSuiteAsSecond) {
  const Slots first = failing_slots(5, [](std::size_t i) { return i == 4; });
  run_stage_suite(
      [first](auto dataset) {
        using T = typename decltype(dataset)::element_type;
        return listed<T>(first) | concatenate(dataset);
      },
      [first](Slots in) {
        in.insert(in.begin(), first.begin(), first.end());
        return show_all(in);
      });
}

TEST(Concatenate, OpensTheSecondLate) {
  const auto both = range(3) | concatenate(unopenable<std::int64_t>("no such file"));
  Iterator<std::int64_t> iterator = both.iterate();
  EXPECT_EQ(take_stream(iterator, 3), numbers({0, 1, 2}));
  EXPECT_EQ(take_stream(iterator), Stream{"! no such file"});
  EXPECT_EQ(take_stream(iterator), Stream{});
  run_source_suite([&] { return both; }, {"0", "1", "2", "! no such file"});
}

TEST(Concatenate, AddsUpCardinalities) {
  const auto some = range(2) | filter([](std::int64_t) { return true; });
  EXPECT_EQ((range(2) | concatenate(range(3))).cardinality(), Cardinality::finite(5));
  EXPECT_EQ((range(2) | concatenate(counter())).cardinality(), Cardinality::infinite());
  EXPECT_EQ((some | concatenate(counter())).cardinality(), Cardinality::infinite());
  EXPECT_EQ((some | concatenate(range(3))).cardinality(), Cardinality::unknown());
}

TEST(Concatenate, Repeats) {
  const auto twice = range(2) | concatenate(range(7, 8)) | repeat(2);
  run_source_suite([&] { return twice; }, numbers({0, 1, 7, 0, 1, 7}));
}

}  // namespace
}  // namespace infeed::test
