#include "text/number_guess.h"

#include <gtest/gtest.h>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace infeed::detail {
namespace {

NumberGuess guess_of(std::initializer_list<std::string_view> numbers) {
  NumberGuess guess;
  for (const std::string_view number : numbers) guess.see(value_of_cell(number), number);
  return guess;
}

TEST(NumberGuess, WholeNumbersTakeTheTypeThatHoldsAll) {
  EXPECT_FALSE(NumberGuess().has_numbers());
  EXPECT_TRUE(guess_of({"0"}).has_numbers());
  EXPECT_EQ(guess_of({"1", "-2"}).dtype(false), DType::int64);
  EXPECT_EQ(guess_of({"9223372036854775807", "-9223372036854775808"}).dtype(false), DType::int64);
  EXPECT_EQ(guess_of({"9223372036854775808"}).dtype(false), DType::uint64);
  EXPECT_EQ(guess_of({"18446744073709551615", "0"}).dtype(false), DType::uint64);
  EXPECT_EQ(guess_of({"9223372036854775808", "-1"}).dtype(false), DType::float64);
  EXPECT_EQ(guess_of({"-1", "9223372036854775808"}).dtype(false), DType::float64);
}

TEST(NumberGuess, FractionsAndGapsTakeFloat64) {
  EXPECT_EQ(guess_of({"1.5", "1"}).dtype(false), DType::float64);
  EXPECT_EQ(guess_of({"1", "1e3"}).dtype(false), DType::float64);
  EXPECT_EQ(guess_of({"1"}).dtype(true), DType::float64);
  EXPECT_EQ(guess_of({"9223372036854775808"}).dtype(true), DType::float64);
}

TEST(NumberGuess, SaysWhichNumberNoTypeKeeps) {
  const auto lost = [](std::initializer_list<std::string_view> numbers, bool has_gaps) {
    const NumberGuess guess = guess_of(numbers);
    EXPECT_EQ(guess.dtype(has_gaps), std::nullopt);
    return guess.first_lost();
  };
  EXPECT_EQ(lost({"1", "9007199254740993", "9007199254740995"}, true), "9007199254740993");
  EXPECT_EQ(lost({"1.5", "9007199254740993"}, false), "9007199254740993");
  EXPECT_EQ(lost({"18446744073709551615", "-1"}, false), "18446744073709551615");
  EXPECT_EQ(lost({"18446744073709551616"}, false), "18446744073709551616");
  EXPECT_EQ(lost({"-9223372036854775809"}, false), "-9223372036854775809");
  EXPECT_EQ(guess_of({"1"}).first_lost(), "");
}

}  // namespace
}  // namespace infeed::detail
