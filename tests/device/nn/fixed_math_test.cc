#include "../../../device/nn/kernels/fixed_math.h"

#include <cmath>
#include <gtest/gtest.h>

namespace infeed::detail {
namespace {

TEST(FixedMath, ExpIsCloseToTheLibrarys) {
  for (double x = 0; x > -80; x -= 0.0137) {
    EXPECT_NEAR(fixed_exp(x) / std::exp(x), 1, 1e-15) << x;
  }
  EXPECT_EQ(fixed_exp(0), 1);
  EXPECT_EQ(fixed_exp(-1e300), 0);
}

TEST(FixedMath, LogIsCloseToTheLibrarys) {
  for (double x = 1; x < 1e6; x *= 1.0173) {
    EXPECT_NEAR(fixed_log(x), std::log(x), 4e-15 * std::max(1.0, std::log(x))) << x;
  }
  EXPECT_EQ(fixed_log(1), 0);
}

}  // namespace
}  // namespace infeed::detail
