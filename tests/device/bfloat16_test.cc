#include "infeed/pipeline/bfloat16.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace infeed {
namespace {

float round_trip(float value) { return static_cast<float>(bfloat16(value)); }

TEST(Bfloat16, ValuesOfEightBitsAreExact) {
  for (int i = -256; i <= 256; ++i) {
    EXPECT_EQ(round_trip(static_cast<float>(i)), static_cast<float>(i));
  }
  EXPECT_EQ(bfloat16(1.0f).bits, 0x3F80);
  EXPECT_EQ(bfloat16(-2.0f).bits, 0xC000);
  EXPECT_TRUE(std::signbit(round_trip(-0.0f)));
}

TEST(Bfloat16, TiesGoToEven) {
  EXPECT_EQ(round_trip(257.0f), 256.0f);  // halfway between 256 and 258
  EXPECT_EQ(round_trip(259.0f), 260.0f);
  EXPECT_EQ(round_trip(257.0001f), 258.0f);
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0x3F80'8000u)).bits, 0x3F80);
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0x3F81'8000u)).bits, 0x3F82);
}

TEST(Bfloat16, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const bfloat16 value = bfloat16::from_bits(static_cast<std::uint16_t>(bits));
    const float wide = static_cast<float>(value);
    const bfloat16 again(wide);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(again))) << bits;
    } else {
      EXPECT_EQ(again.bits, value.bits);
    }
  }
}

TEST(Bfloat16, SpecialValues) {
  EXPECT_TRUE(std::isinf(round_trip(std::numeric_limits<float>::infinity())));
  EXPECT_TRUE(std::isinf(round_trip(std::numeric_limits<float>::max())));
  EXPECT_TRUE(std::isnan(round_trip(std::bit_cast<float>(0x7F80'0001u))));
  EXPECT_TRUE(std::isnan(round_trip(std::bit_cast<float>(0xFFFF'FFFFu))));
  EXPECT_EQ(bfloat16(0.0f), bfloat16(-0.0f));
  EXPECT_FALSE(bfloat16(std::numeric_limits<float>::quiet_NaN()) ==
               bfloat16(std::numeric_limits<float>::quiet_NaN()));
}

}  // namespace
}  // namespace infeed
