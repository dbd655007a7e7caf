#pragma once

#include <cmath>

// exp and log as fixed sequences of IEEE operations, which give the same bits everywhere. The C
// library's have variants with and without fused multiply-add, chosen by CPU, whose last bits
// differ. Error below 2 units in the last place of a double in the range used, far below a float's.

namespace infeed::detail {

/// exp(x) for x <= 0; 0 below -700.
inline double fixed_exp(double x) {
  if (x < -700) return 0;
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLn2High = 6.93147180369123816490e-01;  // the low 32 bits are 0: n * it is exact
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  const double n = std::floor(x * kLog2E + 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;  // |r| <= ln(2) / 2
  double sum = 1.0 / 479001600.0;                     // 1/12!
  for (int i = 12; i >= 1; --i) {
    // Horner's rule on sum r^i / i!: the coefficient of the next lower power is i times this one.
    constexpr double kInverseFactorial[] = {
        1.0,       1.0,        1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,
        1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800};
    sum = sum * r + kInverseFactorial[i - 1];
  }
  return std::ldexp(sum, static_cast<int>(n));
}

/// log(x) for finite x >= 1 (a softmax's sum).
inline double fixed_log(double x) {
  constexpr double kLn2 = 0.6931471805599453;
  constexpr double kSqrtHalf = 0.7071067811865476;
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < kSqrtHalf) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);  // |s| < 0.172: log m = 2 (s + s^3/3 + s^5/5 + ...)
  const double s2 = s * s;
  double sum = 0;
  for (int i = 21; i >= 1; i -= 2) sum = sum * s2 + 1.0 / i;
  return 2 * s * sum + exponent * kLn2;
}

/// cos(pi x) for 0 <= x <= 1.
inline double fixed_cos_pi(double x) {
  if (x > 0.5) return -fixed_cos_pi(1 - x);
  constexpr double kPi = 3.141592653589793;
  const double square = kPi * x * (kPi * x);
  double sum = 1;  // 1 - s/2 (1 - s/12 (1 - s/30 (...)))
  for (int i = 22; i >= 2; i -= 2) sum = 1 - sum * square / (i * (i - 1.0));
  return sum;
}

/// x^power for 0 <= x <= 1, power > 0.
inline double fixed_power(double x, double power) {
  if (power == 1) return x;
  return x == 0 ? 0 : fixed_exp(-power * fixed_log(1 / x));
}

}  // namespace infeed::detail
