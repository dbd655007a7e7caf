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

TEST(FixedMath, CosAndPowerAreCloseToTheLibrarys) {
  for (double x = 0; x <= 1; x += 0.00137) {
    EXPECT_NEAR(fixed_cos_pi(x), std::cos(M_PI * x), 1e-15) << x;
    EXPECT_NEAR(fixed_power(x, 2.5), std::pow(x, 2.5), 1e-14) << x;
  }
  EXPECT_EQ(fixed_cos_pi(0), 1);
  EXPECT_EQ(fixed_cos_pi(1), -1);
  EXPECT_EQ(fixed_power(0, 0.5), 0);
  EXPECT_EQ(fixed_power(0.25, 1), 0.25);
}

}  // namespace
}  // namespace infeed::detail
