#include "../../../device/nn/kernels/kernels.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include <infeed/records/bfloat16.h>
#include <infeed/records/float16.h>

#include "../../../device/nn/kernels/product.h"
#include "seeded_random.h"

namespace infeed::detail {
namespace {

constexpr VectorWidth kWidths[] = {VectorWidth::portable, VectorWidth::bits_128,
                                   VectorWidth::bits_256, VectorWidth::bits_512,
                                   VectorWidth::widest};

std::vector<float> drawn_values(std::mt19937_64& random, std::int64_t count) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

/// Multiplies by the definition: one fused multiply-add after the other, k upwards.
std::vector<float> defined_product(std::int64_t m, std::int64_t n, std::int64_t k,
                                   const std::vector<float>& a, const std::vector<float>& b,
                                   std::vector<float> c) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float& sum = c[static_cast<std::size_t>(i * n + j)];
      for (std::int64_t d = 0; d < k; ++d) {
        sum = std::fma(a[static_cast<std::size_t>(i * k + d)],
                       b[static_cast<std::size_t>(d * n + j)], sum);
      }
    }
  }
  return c;
}

class SameBitsOfProducts : public testing::TestWithParam<std::array<std::int64_t, 3>> {};

TEST_P(SameBitsOfProducts, AsTheDefinitionAtEveryVectorWidth) {
  const auto [m, n, k] = GetParam();
  test::SeededRandom random;
  const auto a = drawn_values(random, m * k);
  const auto b = drawn_values(random, k * n);
  const auto start = drawn_values(random, m * n);
  const auto expected = defined_product(m, n, k, a, b, std::vector<float>(start.size()));
  const auto continued = defined_product(m, n, k, a, b, start);
  std::vector<float> turned(a.size());
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t d = 0; d < k; ++d) {
      turned[static_cast<std::size_t>(d * m + i)] = a[static_cast<std::size_t>(i * k + d)];
    }
  }
  ProductWorkspace workspace;
  const MatrixView left{.values = a.data(), .row_stride = k};
  const MatrixView left_turned{.values = turned.data(), .row_stride = m};
  const MatrixView right{.values = b.data(), .row_stride = n};
  for (const VectorWidth width : kWidths) {
    std::vector<float> c(start.size(), 7.0F);
    multiply(workspace, m, n, k, left, right, c.data(), {.width = width});
    EXPECT_EQ(c, expected);
    multiply(workspace, m, n, k, left_turned.transposed(), right, c.data(), {.width = width});
    EXPECT_EQ(c, expected);
    c = start;
    multiply(workspace, m, n, k, left, right, c.data(), {.width = width, .accumulate = true});
    EXPECT_EQ(c, continued);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, SameBitsOfProducts,
    testing::Values(std::array<std::int64_t, 3>{1, 1, 1}, std::array<std::int64_t, 3>{12, 32, 256},
                    std::array<std::int64_t, 3>{7, 17, 257}, std::array<std::int64_t, 3>{97, 10, 3},
                    std::array<std::int64_t, 3>{5, 33, 600}, std::array<std::int64_t, 3>{3, 5, 0},
                    std::array<std::int64_t, 3>{0, 5, 3}));

TEST(Product, OperandsAreRoundedFirst) {
  // 257 rounds to 256 (to even), 1 + 2^-9 to 1; float16 keeps both and loses 2^-12.
  const std::vector<float> a = {257.0F};
  const std::vector<float> b = {1.0F + 0x1p-9F + 0x1p-12F};
  const auto product = [&](Rounding rounding) {
    float c = 0;
    ProductWorkspace workspace;
    multiply(workspace, 1, 1, 1, {.values = a.data(), .row_stride = 1},
             {.values = b.data(), .row_stride = 1}, &c, {.rounding = rounding});
    return c;
  };
  EXPECT_EQ(product(Rounding::none), 257.0F * b[0]);
  EXPECT_EQ(product(Rounding::bfloat16), 256.0F);
  EXPECT_EQ(product(Rounding::float16), 257.0F * (1.0F + 0x1p-9F));
}

using Function = void (*Kernels::*)(std::int64_t, const float*, float*);

/// `ulps_max` holds for results that are normal numbers.
void expect_function(Function function, double (*exact)(double), double ulps_max) {
  std::vector<float> x;
  for (float value = 1e-30F; value < 200; value *= 1.0037F) {
    x.push_back(value);
    x.push_back(-value);
  }
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.0F, -0.0F, infinity, -infinity}) x.push_back(value);
  const auto count = static_cast<std::int64_t>(x.size());
  std::vector<float> first(x.size());
  (kernels(VectorWidth::portable).*function)(count, x.data(), first.data());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = exact(static_cast<double>(x[i]));
    if (!std::isnormal(static_cast<float>(expected))) {
      const auto near = static_cast<float>(expected);
      EXPECT_TRUE(first[i] == near || std::abs(first[i] - near) < 1e-38F) << x[i];
      continue;
    }
    const double ulp = std::ldexp(1.0, std::ilogb(expected) - 23);
    worst = std::max(worst, std::abs(first[i] - expected) / ulp);
  }
  EXPECT_LT(worst, ulps_max);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const VectorWidth width : kWidths) {
    std::vector<float> y(x.size());
    (kernels(width).*function)(count, x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(first[i])) << x[i];
    }
    float of_nan = 0;
    (kernels(width).*function)(1, &nan, &of_nan);
    EXPECT_TRUE(std::isnan(of_nan));
  }
}

TEST(SameBits, OfExp) { expect_function(&Kernels::exp, std::exp, 2); }
TEST(SameBits, OfTanh) { expect_function(&Kernels::tanh, std::tanh, 3); }
TEST(SameBits, OfErf) { expect_function(&Kernels::erf, std::erf, 3); }

/// Tests all float32 of some upper halves, and the neighbours of each tie.
TEST(SameBits, OfRoundingAsTheTypesRound) {
  std::vector<float> x;
  for (std::uint32_t upper = 0; upper < 0x10000; upper += 3) {
    for (const std::uint32_t lower :
         {0U, 1U, 0x0fffU, 0x1000U, 0x1001U, 0x3000U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      x.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  for (const float value : {65504.0F, 65519.996F, 65520.0F, 0x1p-24F, 0x1p-25F, 0x1.8p-25F, -0.0F,
                            std::numeric_limits<float>::quiet_NaN()}) {
    x.push_back(value);
  }
  const auto count = static_cast<std::int64_t>(x.size());
  std::vector<float> y(x.size());
  const auto expect_same = [](float found, float expected, float of) {
    const bool both_nan = std::isnan(found) && std::isnan(expected);
    EXPECT_TRUE(both_nan ||
                std::bit_cast<std::uint32_t>(found) == std::bit_cast<std::uint32_t>(expected))
        << of << ": " << found << " instead of " << expected;
  };
  for (const VectorWidth width : kWidths) {
    kernels(width).bfloat16(count, x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      expect_same(y[i], static_cast<float>(bfloat16(x[i])), x[i]);
    }
    kernels(width).float16(count, x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      expect_same(y[i], static_cast<float>(float16(x[i])), x[i]);
    }
  }
}

}  // namespace
}  // namespace infeed::detail
