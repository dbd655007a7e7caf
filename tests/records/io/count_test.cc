#include <limits>

#include <infeed/count.h>

#include "thrown_error.h"

namespace infeed::test {
namespace {

struct Options {
  Count count;
  Count index = 0;
};

TEST(Count, takes_any_integer_in_braces) {
  const int a = 3;
  const unsigned b = 4;
  const std::size_t c = 5;
  const std::int64_t d = 6;
  const auto sum = [](const Options& options) { return options.count + options.index; };
  EXPECT_EQ(sum({.count = a, .index = b}), 7U);
  EXPECT_EQ(sum({.count = c, .index = d}), 11U);
  static_assert(Count(3) == 3 && Count(3) < 4U && Count(-1) < 0U && Count(-1) == -1);
  static_assert(Count(std::numeric_limits<std::uint64_t>::max()).value() ==
                std::numeric_limits<std::int64_t>::max());
  static_assert(!std::is_convertible_v<bool, Count>);
}

TEST(Count, a_negative_one_is_an_error_that_says_whose_it_is) {
  const Options options{.count = -3};
  EXPECT_EQ(options.count.value(), -3);
  const Error named = error_of([&] { static_cast<void>(options.count.of("shard", "count")); });
  EXPECT_EQ(named.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(named.message(), "shard: count is -3; give 0 or more");
  const Error unnamed = error_of([&] { static_cast<void>(options.count + 1); });
  EXPECT_EQ(unnamed.message(), "a count is -3; give 0 or more");
}

}  // namespace
}  // namespace infeed::test
