#include <stdexcept>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

auto numbers_below(std::int64_t end) {
  return generate([end] {
    return [end, next = std::int64_t{0}]() mutable -> std::optional<std::int64_t> {
      if (next == end) return std::nullopt;
      return next++;
    };
  });
}

TEST(Generate, PassesTheSuite) {
  for (const std::int64_t end : {0, 1, 5, 700}) {
    SCOPED_TRACE(end);
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < end; ++i) values.push_back(i);
    run_source_suite([end] { return numbers_below(end); }, numbers(values));
  }
}

TEST(Generate, StartsAnewEachPass) {
  const auto dataset = numbers_below(2) | repeat(3);
  run_source_suite([&] { return dataset; }, numbers({0, 1, 0, 1, 0, 1}));
}

TEST(Generate, TellsTheNumberOfThePass) {
  const auto passes = generate([](std::uint64_t pass) {
    return [pass, left = 2]() mutable -> std::optional<std::int64_t> {
      if (left-- == 0) return std::nullopt;
      return static_cast<std::int64_t>(pass);
    };
  });
  EXPECT_EQ(stream_of(passes | repeat(3)), numbers({0, 0, 1, 1, 2, 2}));
}

TEST(Generate, ALargeElementBehindSmallOnesIsCounted) {
  constexpr std::size_t kLarge = 1'000'000;
  for (int small = 2; small < 40; ++small) {
    const auto strings = generate([small] {
      return [small, next = 0]() mutable -> std::optional<std::string> {
        if (next == 40) return std::nullopt;
        return std::string(next++ == small ? kLarge : 90, 'b');
      };
    });
    // A thread that lost its core hands over before the element; alone it is the one that any limit
    // allows.
    std::uint64_t peak_bytes = 0;
    for (int run = 0; run < 5 && peak_bytes < kLarge; ++run) {
      auto iterator = strings.iterate();
      while (iterator.next()) {
      }
      peak_bytes = iterator.memory().peak_bytes();
    }
    EXPECT_GE(peak_bytes, kLarge) << small << " small ones before it";
  }
}

TEST(Generate, WhatItThrowsTakesAPlaceAndItGoesOn) {
  const auto failing = [] {
    return generate([] {
      return [next = std::int64_t{0}]() mutable -> std::optional<std::int64_t> {
        const std::int64_t value = next++;
        if (value % 3 == 1) throw std::runtime_error("no " + std::to_string(value));
        return value < 8 ? std::optional(value) : std::nullopt;
      };
    });
  };
  run_source_suite(failing, {"0", "! no 1", "2", "3", "! no 4", "5", "6", "! no 7"});
}

TEST(Generate, APassThatCannotStartIsOneError) {
  const auto unstartable = [] {
    return generate([]() -> std::function<std::optional<std::int64_t>()> {
      throw Error(ErrorCode::unavailable, "nobody answers");
    });
  };
  run_source_suite(unstartable, {"! nobody answers"});
}

TEST(Generate, GivesElementsThatCanOnlyBeMoved) {
  const auto dataset = generate([] {
    return [left = 5]() mutable -> std::optional<std::unique_ptr<std::int64_t>> {
      if (left == 0) return std::nullopt;
      return std::make_unique<std::int64_t>(left--);
    };
  });
  EXPECT_EQ(stream_of(dataset), numbers({5, 4, 3, 2, 1}));
}

TEST(Generate, AnIteratorOfItsOwnThatFailsForGoodEndsIt) {
  const auto dataset = generate([] {
    auto nested =
        std::make_shared<Iterator<std::int64_t>>((range(10) | assert_cardinality(3)).iterate());
    return [nested]() { return nested->next(); };
  });
  const std::string failure =
      "!! assert_cardinality: there are more than the 3 elements that were promised; give their "
      "true number, or put take(3) before it";
  EXPECT_EQ(stream_of(dataset | skip_errors()), (Stream{"0", "1", "2", failure}));
  // In a map the error is one element's.
  const auto mapped = range(2) | map([](std::int64_t) {
                        auto nested = (range(10) | assert_cardinality(0)).iterate();
                        return nested.next().value_or(0);
                      });
  auto iterator = mapped.iterate();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(error_of([&] { iterator.next(); }).is_terminal());
  }
  EXPECT_FALSE(iterator.next());
}

TEST(Generate, ASlowSourceHoldsNothingBack) {
  // Each element but the first is only made once the one before it has been consumed.
  std::atomic<std::int64_t> consumed{0};
  const auto dataset = generate([&consumed] {
    return [&consumed, next = std::int64_t{0}]() mutable -> std::optional<std::int64_t> {
      if (next == 20) return std::nullopt;
      const auto begin = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - begin < std::chrono::microseconds(150)) {
      }
      EXPECT_EQ(consumed.load(), next);
      return next++;
    };
  });
  for (const std::int64_t value : dataset.iterate()) consumed = value + 1;
  EXPECT_EQ(consumed.load(), 20);
}

}  // namespace
}  // namespace infeed::test
