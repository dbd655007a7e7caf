#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>
#include <string>

#include <infeed/records/detail/text_value.h>

#include "plain_numbers.h"
#include "seeded_random.h"

namespace infeed::test {
namespace {

using detail::parse_float32;
using detail::parse_float64;
using detail::value_of_cell;
using detail::ValueForm;

ValueForm form_of(const std::string& text) { return value_of_cell(text).form; }

struct WrittenForm {
  const char* written;
  ValueForm form;
};

TEST(TextValueTest, FormsOfWhatIsWritten) {
  for (const auto& [written, form] : {
           WrittenForm{"5", ValueForm::integer},
           {"-5", ValueForm::integer},
           {" +5 ", ValueForm::integer},
           {"0", ValueForm::integer},
           {"9223372036854775807", ValueForm::integer},
           {"-9223372036854775808", ValueForm::integer},
           {"9223372036854775808", ValueForm::wide_integer},
           {"-9223372036854775809", ValueForm::wide_integer},
           {"10499958131665514997", ValueForm::wide_integer},
           {"007", ValueForm::code},
           {"-01", ValueForm::code},
           {"00.5", ValueForm::code},
           {"0.5", ValueForm::decimal},
           {".5", ValueForm::decimal},
           {"5.", ValueForm::decimal},
           {"1e3", ValueForm::decimal},
           {"1e-400", ValueForm::decimal},
           {"0e9999999999999999999999", ValueForm::decimal},
           {"nan", ValueForm::decimal},
           {"-inf", ValueForm::decimal},
           {"Infinity", ValueForm::decimal},
           {"3.4028235e38", ValueForm::decimal},
           {"3.4028236e38", ValueForm::excessive},
           {"1e39", ValueForm::excessive},
           {"-1e400", ValueForm::excessive},
           {"1e99999999999999999999", ValueForm::excessive},
           {"true", ValueForm::boolean},
           {" FALSE ", ValueForm::boolean},
           {"\t7 ", ValueForm::integer},
           {"yes", ValueForm::text},
           {"++5", ValueForm::text},
           {"", ValueForm::text},
           {" ", ValueForm::text},
           {"+", ValueForm::text},
           {"-", ValueForm::text},
           {".", ValueForm::text},
           {"+-5", ValueForm::text},
           {"0x10", ValueForm::text},
           {"1,5", ValueForm::text},
           {"1_000", ValueForm::text},
           {"nan(1)", ValueForm::text},
           {"5 apples", ValueForm::text},
       }) {
    EXPECT_EQ(value_of_cell(written).form, form) << "'" << written << "'";
  }
}

TEST(TextValueTest, NumbersBeyondDoubleAreToldFromThoseBelowIt) {
  const std::string zeros(400, '0');
  EXPECT_EQ(form_of("1" + zeros + ".5"), ValueForm::excessive);
  EXPECT_EQ(form_of("0." + zeros + "1"), ValueForm::decimal);
  EXPECT_EQ(form_of("0." + zeros + "1e800"), ValueForm::excessive);
  EXPECT_EQ(form_of("1" + zeros + "e-800"), ValueForm::decimal);
}

TEST(TextValueTest, WholeNumbersKeepAllDigits) {
  EXPECT_EQ(value_of_cell(" 9007199254740993").integer, 9007199254740993);
  EXPECT_EQ(detail::parse_uint64("18446744073709551615"), 18446744073709551615U);
  EXPECT_FALSE(detail::parse_uint64("18446744073709551616"));
  EXPECT_FALSE(detail::parse_int64("9223372036854775808"));
  EXPECT_EQ(detail::value_of_json_number("-7").integer, -7);
  EXPECT_TRUE(std::signbit(detail::value_of_json_number("-0").number));
  EXPECT_EQ(detail::value_of_json_number("1e400").number, std::numeric_limits<double>::infinity());
}

TEST(TextValueTest, OnlyIntegersAndBoolsHaveOne) {
  struct Written {
    const char* text;
    std::int64_t integer;
    double number;
  };
  for (const auto& [text, integer, number] :
       {Written{"true", 1, 1}, Written{"FALSE", 0, 0}, Written{"-7", -7, -7}, Written{"007", 0, 7},
        Written{"0.5", 0, 0.5}, Written{"1e39", 0, 1e39},
        Written{"9223372036854775808", 0, 9223372036854775808.0}, Written{"x", 0, 0}}) {
    const detail::TextValue value = value_of_cell(text);
    EXPECT_EQ(value.integer, integer) << text;
    EXPECT_EQ(value.number, number) << text;
  }
  EXPECT_EQ(value_of_cell("-1e400").number, -std::numeric_limits<double>::infinity());
}

TEST(TextValueTest, PartsOfWhatIsWritten) {
  EXPECT_EQ(detail::trimmed_cell(" \ta b\t "), "a b");
  EXPECT_EQ(detail::trimmed_cell(" \t"), "");
  EXPECT_EQ(detail::trimmed_cell("\na\r"), "\na\r");
  for (const char* const name : {"true", "True", "TRUE"}) {
    EXPECT_EQ(detail::parse_bool_name(name), true);
  }
  for (const char* const name : {"false", "False", "FALSE"}) {
    EXPECT_EQ(detail::parse_bool_name(name), false);
  }
  for (const char* const other : {"", "tRUE", "1", "true ", "fALSE"}) {
    EXPECT_EQ(detail::parse_bool_name(other), std::nullopt) << other;
  }
  for (const char* const whole : {"0", "09", "-5", "+5", "99999999999999999999"}) {
    EXPECT_TRUE(detail::is_whole_number(whole)) << whole;
  }
  for (const char* const other : {"", "-", "+", "1.", "1e5", "/", ":", "1:", "--1", " 1"}) {
    EXPECT_FALSE(detail::is_whole_number(other)) << other;
  }
  for (const char* const zeros : {"00", "01", "-007", "+00.5"}) {
    EXPECT_TRUE(detail::has_leading_zeros(zeros)) << zeros;
  }
  for (const char* const other : {"", "0", "-0", "0.5", "10", "0x1", "0/", "0:"}) {
    EXPECT_FALSE(detail::has_leading_zeros(other)) << other;
  }
  for (const char* const finite : {"0", "-1", "+.5", ".", "9"}) {
    EXPECT_TRUE(detail::is_finite_number(finite)) << finite;
  }
  for (const char* const other : {"", "nan", "-inf", "+", "/", ":"}) {
    EXPECT_FALSE(detail::is_finite_number(other)) << other;
  }
}

TEST(TextValueTest, WholeNumbersThatFloat64Rounds) {
  for (const char* const rounded :
       {"9007199254740993", "-9007199254740993", "+9007199254740993", "18014398509481983",
        "18446744073709551615", "99999999999999999999"}) {
    EXPECT_TRUE(detail::float64_rounds(rounded)) << rounded;
  }
  for (const char* const kept : {"0", "999999999999999", "9007199254740991", "9007199254740992",
                                 "9007199254740994", "-18014398509481984", "18446744073709549568",
                                 "9007199254740993.5", "1e300", "0000000000000001"}) {
    EXPECT_FALSE(detail::float64_rounds(kept)) << kept;
  }
}

/// The middle between two float32, and a little more, rounds up; its float64 is the middle itself.
TEST(TextValueTest, AFloatIsRoundedOnce) {
  const std::string above = "1.000000059604644775390625000000000000001";
  EXPECT_EQ(parse_float32(above, *parse_float64(above)), std::nextafter(1.0F, 2.0F));
  const std::string middle = "1.000000059604644775390625";
  EXPECT_EQ(parse_float32(middle, *parse_float64(middle)), 1.0F);
  SeededRandom random;
  for (int i = 0; i < 20'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    const double exact = static_cast<double>(value) +
                         (static_cast<double>(std::nextafter(value, INFINITY)) - value) / 2;
    const std::string text = fmt::format("{:.800f}", exact);
    EXPECT_EQ(parse_float32(text, *parse_float64(text)), float_of(text)) << text;
  }
}

}  // namespace
}  // namespace infeed::test
