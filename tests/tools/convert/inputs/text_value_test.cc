#include "convert/inputs/text_value.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace infeed::test {
namespace {

using namespace tools;

TEST(TextValue, TinyNumbersAreZeroAndThatIsSaid) {
  const auto tiny = parse_float("-0." + std::string(400, '0') + "1");
  ASSERT_TRUE(tiny);
  EXPECT_EQ(tiny->value, 0);
  EXPECT_TRUE(std::signbit(tiny->value));
  EXPECT_TRUE(tiny->is_rounded);
}

TEST(TextValue, FloatsSayWhenTheyLoseWhatWasWritten) {
  for (const char* const kept : {"0.1",
                                 "-0.1",
                                 "0.123456",
                                 "3.14159",
                                 "1e30",
                                 "1e-37",
                                 "16777216",
                                 "16777218",
                                 "0",
                                 "-0.0",
                                 "0e7",
                                 "nan",
                                 "-inf",
                                 "1e+5",
                                 "52.520008",
                                 "123456",
                                 "18446744073709551616",
                                 "1e-45",
                                 "0.50000000000",
                                 "-8.673519e+08",
                                 "0.10000000000000001",
                                 "0.099999999999999999",
                                 "1.5000000000e3",
                                 "9999999"}) {
    const auto number = parse_float(kept);
    ASSERT_TRUE(number) << kept;
    EXPECT_FALSE(number->is_rounded) << kept;
  }
  for (const char* const rounded :
       {"16777217", "-16777217", "1700000000.5", "52.5200066", "3.141592653589793", "1e-50",
        "1e-400", "1.23e-44", "9007199254740993", "10499958131665514997", "1.00000001",
        "1.0000000005", "0.0999999999999", "0.100000000000001"}) {
    const auto number = parse_float(rounded);
    ASSERT_TRUE(number) << rounded;
    EXPECT_TRUE(number->is_rounded) << rounded;
  }
}

TEST(TextValue, AFloatIsNeverInfiniteUnlessItIsWrittenSo) {
  EXPECT_EQ(parse_float("inf")->value, std::numeric_limits<float>::infinity());
  EXPECT_EQ(parse_float("-Infinity")->value, -std::numeric_limits<float>::infinity());
  EXPECT_FALSE(parse_float("1e39"));
  EXPECT_FALSE(parse_float("-1e400"));
  EXPECT_FALSE(to_float32(1e300, "1e300"));
}

TEST(TextValue, LeadingZerosAreDroppedOnlyWhenThatIsWanted) {
  EXPECT_FALSE(parse_integer("00812"));
  EXPECT_EQ(parse_integer("00812", LeadingZeros::dropped), 812);
  EXPECT_FALSE(parse_float("007.5"));
  EXPECT_EQ(parse_float("007.5", LeadingZeros::dropped)->value, 7.5F);
}

}  // namespace
}  // namespace infeed::test
