#include <stdexcept>

#include <infeed/pipeline/slices.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(Slices, PassesTheSuite) {
  for (const std::size_t count : {0, 1, 5, 300, 1000}) {
    SCOPED_TRACE(count);
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int64_t>(3 * i);
    run_source_suite([&] { return slices(values); }, numbers(values));
  }
}

TEST(Slices, CarriesEveryKindOfElement) {
  const auto check = []<class T>(std::type_identity<T>) {
    std::vector<T> values;
    Stream expected;
    for (std::int64_t i = 0; i < 700; ++i) {
      values.push_back(make_element<T>(i));
      expected.push_back(std::to_string(i));
    }
    run_source_suite([&] { return slices(values); }, expected);
  };
  check(std::type_identity<std::string>());
  check(std::type_identity<Wide>());
  check(std::type_identity<OverAligned>());
}

TEST(Slices, TakesAListAndBools) {
  EXPECT_EQ(stream_of(slices({1, 2, 3})), numbers({1, 2, 3}));
  EXPECT_EQ(stream_of(slices(std::vector<bool>{true, false, true})), numbers({1, 0, 1}));
}

TEST(Slices, SharesTheVector) {
  const auto values = std::make_shared<const std::vector<int>>(std::vector<int>{1, 2});
  {
    const auto dataset = slices(values);
    EXPECT_EQ(values.use_count(), 2);
    EXPECT_EQ(stream_of(dataset), stream_of(dataset));
    EXPECT_EQ(dataset.cardinality(), Cardinality::finite(2));
  }
  EXPECT_EQ(values.use_count(), 1);
}

struct CopiesBadly {
  explicit CopiesBadly(std::int64_t number) : value(number) {}
  CopiesBadly(const CopiesBadly& other) : value(other.value) {
    if (armed && value % 4 == 2) throw std::runtime_error("no copy of " + std::to_string(value));
  }
  CopiesBadly(CopiesBadly&& other) noexcept : value(other.value) {}
  friend std::int64_t value_of(const CopiesBadly& element) { return element.value; }
  std::int64_t value;
  static inline bool armed = false;
};

TEST(Slices, ACopyThatThrowsIsAnErrorInItsPlace) {
  std::vector<CopiesBadly> values;
  for (std::int64_t i = 0; i < 7; ++i) values.emplace_back(i);
  CopiesBadly::armed = true;
  Iterator<CopiesBadly> iterator = slices(std::move(values)).iterate();
  const Stream stream = take_stream(iterator);
  CopiesBadly::armed = false;
  EXPECT_EQ(stream, (Stream{"0", "1", "! no copy of 2", "3", "4", "5", "! no copy of 6"}));
}

TEST(Slices, ACheckpointIsBoundToTheValues) {
  Iterator<int> iterator = slices({1, 2, 3}).iterate();
  iterator.next();
  const Checkpoint checkpoint = iterator.checkpoint();
  const Error error = error_of([&] { slices({1, 2, 4}).iterate({.resume = checkpoint}); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("slices(count=3, crc32c="));
}

}  // namespace
}  // namespace infeed::test
