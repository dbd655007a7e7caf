#include "text/number_text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>
#include <string>

#include "seeded_random.h"

namespace infeed::test {
namespace {

using detail::NumberProblem;

/// Text as parsers meet it: with other bytes behind it.
template <class T>
NumberProblem parse_behind(const std::string& text, T& out, char behind = '7') {
  const std::string padded = text + std::string(64, behind);
  const char* const begin = padded.data();
  if constexpr (std::is_integral_v<T>) {
    return detail::parse_integer(begin, begin + text.size(), out);
  } else {
    return detail::parse_float(begin, begin + text.size(), out);
  }
}

template <class T>
void expect_like_library(const std::string& text) {
  T expected = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), expected);
  ASSERT_EQ(end, text.data() + text.size()) << text;
  if (failure != std::errc()) return;
  T found = 0;
  ASSERT_EQ(parse_behind(text, found), NumberProblem::none) << text;
  if constexpr (std::is_same_v<T, double>) {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(expected)) << text;
  } else {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected)) << text;
  }
}

TEST(NumberText, FloatsAreTheNearestOnes) {
  SeededRandom random;
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = random();
    const double any = std::bit_cast<double>(bits);
    std::string text;
    switch (i % 7) {
      case 0:
        text = std::isfinite(any) ? fmt::format("{}", any) : "0";
        break;
      case 1:  // the most digits
        text = fmt::format("{}.{}", bits % 1000, random() % 1'000'000'000'000'000'000U);
        break;
      case 2:
        text = fmt::format("{}e{}", bits, static_cast<int>(random() % 60) - 30);
        break;
      case 3:
        text = fmt::format("-{:.{}f}", static_cast<double>(bits % 100'000) / 7, random() % 12);
        break;
      case 4:  // in the middle between two floats, or next to it
        text = fmt::format("{}", (16'777'216.0 + static_cast<double>(bits % 16'777'216)) + 0.5) +
               (bits % 3 == 0   ? ""
                : bits % 3 == 1 ? "0000001"
                                : "");
        break;
      case 5: {  // in the middle between two doubles
        const std::uint64_t odd = ((std::uint64_t{1} << 53) + (bits >> 11)) * 2 + 1;
        text = fmt::format("{}e{}", odd, static_cast<int>(random() % 2));
        if (random() % 2 == 0 && odd % 5 == 0) text = fmt::format("{}e-1", odd);
        break;
      }
      default:
        text = fmt::format("{}", static_cast<float>(static_cast<double>(bits) / 3e15));
    }
    if (text.find('.') == text.npos && text.find('e') == text.npos) text += ".0";
    expect_like_library<double>(text);
    expect_like_library<float>(text);
  }
}

TEST(NumberText, FloatsOfEveryForm) {
  for (const char* const text : {"1", "+1", ".5", "5.", "1e5", "1E+5", "1e-05", "nan", "NaN",
                                 "-inf", "Infinity", "+inf", "0", "-0", "1e-400", "00.5"}) {
    double value = 0;
    EXPECT_EQ(parse_behind(text, value), NumberProblem::none) << text;
  }
  for (const char* const text : {"", "-", "+", ".", "e5", "1e", "1e+", "--1", "+-1", "1_000",
                                 "0x10", "1.2.3", "1 ", " 1", "nan(1)", "infinit", "1f", "1,5"}) {
    double value = 0;
    EXPECT_EQ(parse_behind(text, value), NumberProblem::no_number) << text;
    float narrow = 0;
    EXPECT_EQ(parse_behind(text, narrow), NumberProblem::no_number) << text;
  }
  double value = 0;
  EXPECT_EQ(parse_behind("1e400", value), NumberProblem::out_of_range);
  EXPECT_EQ(parse_behind("-0.00001e-400", value), NumberProblem::none);
  EXPECT_TRUE(value == 0 && std::signbit(value));
  float narrow = 0;
  EXPECT_EQ(parse_behind("3.5e38", narrow), NumberProblem::out_of_range);
  EXPECT_EQ(parse_behind("1e-46", narrow), NumberProblem::none);
  EXPECT_EQ(narrow, 0);
  EXPECT_EQ(parse_behind("1e-40", narrow), NumberProblem::none);
  EXPECT_EQ(narrow, 1e-40F);
}

/// Neither a library nor a quick way may see an exponent without digits as a good one.
TEST(NumberText, ExponentsHaveDigitsAndNothingElse) {
  for (const char* const text : {"0e", "0e+", "0e-", "0ex", "0e5x", "0e1234x", "0e12345x", "-0e",
                                 "0e+-5", "0.e", "1e5+", "-+1", "++1"}) {
    double value = 0;
    EXPECT_EQ(parse_behind(text, value), NumberProblem::no_number) << text;
    float narrow = 0;
    EXPECT_EQ(parse_behind(text, narrow), NumberProblem::no_number) << text;
  }
  for (const char* const text : {"0e5", "0e-5", "0E+1234", "0e12345", "0e123456789"}) {
    double value = 1;
    EXPECT_EQ(parse_behind(text, value), NumberProblem::none) << text;
    EXPECT_EQ(value, 0) << text;
  }
}

/// A number beyond the type's range is far from 0 or near to it, whatever way it is written.
TEST(NumberText, TellsTooLargeFromTooSmall) {
  const std::string zeros(3000, '0');
  for (const std::string& text :
       {"1" + zeros, "1" + zeros + ".5", "1" + zeros + "e-2690", "0." + zeros + "1e3310",
        std::string("1e+400"), std::string("-1e400"), std::string("10e999999999999999999999")}) {
    double value = 0;
    EXPECT_EQ(parse_behind(text, value), NumberProblem::out_of_range) << text;
  }
  for (const std::string& text :
       {"0." + zeros + "1", "." + zeros + "5", "0." + zeros + "1e2670", "1" + zeros + "e-3331",
        std::string("1e-400"), std::string("1e-999999999999999999999")}) {
    double value = 1;
    EXPECT_EQ(parse_behind(text, value), NumberProblem::none) << text;
    EXPECT_TRUE(value == 0 && !std::signbit(value)) << text;
    EXPECT_EQ(parse_behind("-" + text, value), NumberProblem::none) << text;
    EXPECT_TRUE(value == 0 && std::signbit(value)) << text;
  }
}

TEST(NumberText, BytesBehindMeanNothing) {
  for (const char behind : {'0', '7', '+', '-', '.', 'e', 'n', ' '}) {
    SCOPED_TRACE(behind);
    for (const char* const text : {"1", "1.0", "1e0", "+1", "1."}) {
      double value = 0;
      EXPECT_EQ(parse_behind(text, value, behind), NumberProblem::none) << text;
      EXPECT_EQ(value, 1) << text;
    }
    std::int32_t whole = 0;
    EXPECT_EQ(parse_behind("+1", whole, behind), NumberProblem::none);
    EXPECT_EQ(whole, 1);
    for (const char* const text : {"", "+", "-", ".", "1e", "1e-"}) {
      double value = 0;
      EXPECT_EQ(parse_behind(text, value, behind), NumberProblem::no_number) << text;
      EXPECT_EQ(parse_behind(text, whole, behind), NumberProblem::no_number) << text;
    }
  }
}

TEST(NumberText, LongTextsOfNoSign) {
  const std::string zeros(20, '0');
  std::uint8_t value = 5;
  EXPECT_EQ(parse_behind("-" + zeros, value), NumberProblem::none);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(parse_behind("-" + zeros + "1", value), NumberProblem::out_of_range);
  EXPECT_EQ(parse_behind("-" + zeros + "2", value), NumberProblem::out_of_range);
  EXPECT_EQ(parse_behind("-" + zeros + "x", value), NumberProblem::no_number);
  EXPECT_EQ(parse_behind("+" + zeros + "12", value), NumberProblem::none);
  EXPECT_EQ(value, 12);
  EXPECT_EQ(parse_behind("+-" + zeros + "12", value), NumberProblem::no_number);
  std::int8_t with_sign = 5;
  EXPECT_EQ(parse_behind("-" + zeros + "1", with_sign), NumberProblem::none);
  EXPECT_EQ(with_sign, -1);
  EXPECT_EQ(parse_behind("+-" + zeros + "1", with_sign), NumberProblem::no_number);
}

template <class T>
void expect_integer_range() {
  using Limits = std::numeric_limits<T>;
  T value = 0;
  for (const T expected : {Limits::min(), Limits::max(), T{0}, T{7}}) {
    ASSERT_EQ(parse_behind(fmt::format("{}", expected), value), NumberProblem::none);
    EXPECT_EQ(value, expected);
    EXPECT_EQ(parse_behind(fmt::format("00000000000000000000{}", Limits::max()), value),
              NumberProblem::none);
    EXPECT_EQ(value, Limits::max());
  }
  EXPECT_EQ(parse_behind(fmt::format("{}0", Limits::max()), value), NumberProblem::out_of_range);
  EXPECT_EQ(parse_behind("-99999999999999999999999", value), NumberProblem::out_of_range);
  EXPECT_EQ(parse_behind("-0", value), NumberProblem::none);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(parse_behind("+12", value), NumberProblem::none);
  EXPECT_EQ(value, 12);
  for (const char* const text : {"", "-", "+", "1.0", "1e3", "0x1", "1a", "a1", "1 ", "+-1", "1/",
                                 "1:", "12345678a", "1234567812345678x", "\xb1\xb2"}) {
    EXPECT_EQ(parse_behind(text, value), NumberProblem::no_number) << text;
  }
}

TEST(NumberText, IntegersOfEveryType) {
  expect_integer_range<std::int8_t>();
  expect_integer_range<std::uint8_t>();
  expect_integer_range<std::int16_t>();
  expect_integer_range<std::uint16_t>();
  expect_integer_range<std::int32_t>();
  expect_integer_range<std::uint32_t>();
  expect_integer_range<std::int64_t>();
  expect_integer_range<std::uint64_t>();
  SeededRandom random;
  for (int i = 0; i < 100'000; ++i) {
    const auto expected = static_cast<std::int64_t>(random()) >> (random() % 64);
    std::int64_t value = 0;
    ASSERT_EQ(parse_behind(fmt::format("{}", expected), value), NumberProblem::none);
    ASSERT_EQ(value, expected);
  }
}

}  // namespace
}  // namespace infeed::test
