#include "../../device/gemm.h"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "random_seed.h"

namespace infeed::detail {
namespace {

std::vector<float> random_values(std::mt19937_64& random, std::int64_t count) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

/// The definition: one rounding a product, one a sum, k upwards.
std::vector<float> reference(std::int64_t m, std::int64_t n, std::int64_t k,
                             const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> c(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      volatile float sum = 0;
      for (std::int64_t d = 0; d < k; ++d) {
        const volatile float product =
            a[static_cast<std::size_t>(i * k + d)] * b[static_cast<std::size_t>(d * n + j)];
        sum = sum + product;
      }
      c[static_cast<std::size_t>(i * n + j)] = sum;
    }
  }
  return c;
}

class GemmShapes : public testing::TestWithParam<std::array<std::int64_t, 3>> {};

TEST_P(GemmShapes, AddsUpInTheDefinedOrderBitForBitAtAnyVectorWidth) {
  const auto [m, n, k] = GetParam();
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto a = random_values(random, m * k);
  const auto b = random_values(random, k * n);
  const auto expected = reference(m, n, k, a, b);
  std::vector<float> transposed(a.size());
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t d = 0; d < k; ++d) {
      transposed[static_cast<std::size_t>(d * m + i)] = a[static_cast<std::size_t>(i * k + d)];
    }
  }
  GemmWorkspace workspace;
  std::vector<float> c(static_cast<std::size_t>(m * n), 7.0F);
  const Matrix right{.float32 = b.data(), .row_stride = n};
  for (const VectorWidth width : {VectorWidth::widest, VectorWidth::bits_128}) {
    gemm(workspace, m, n, k, {.float32 = a.data(), .row_stride = k}, right, c.data(),
         {.width = width});
    EXPECT_EQ(c, expected);
    const Matrix left{.float32 = transposed.data(), .row_stride = m};
    gemm(workspace, m, n, k, left.transposed(), right, c.data(), {.width = width});
    EXPECT_EQ(c, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, GemmShapes,
    testing::Values(std::array<std::int64_t, 3>{1, 1, 1}, std::array<std::int64_t, 3>{6, 16, 256},
                    std::array<std::int64_t, 3>{7, 17, 257}, std::array<std::int64_t, 3>{97, 10, 3},
                    std::array<std::int64_t, 3>{5, 33, 600}, std::array<std::int64_t, 3>{3, 5, 0},
                    std::array<std::int64_t, 3>{0, 5, 3}));

TEST(Gemm, Bfloat16OperandsAreRoundedBeforeTheProduct) {
  // 257 rounds to 256 (to even), 1 + 2^-9 to 1.
  const std::vector<float> a = {257.0F};
  const std::vector<float> b = {1.0F + 0x1p-9F};
  float c = 0;
  GemmWorkspace workspace;
  gemm(workspace, 1, 1, 1, {.float32 = a.data(), .row_stride = 1},
       {.float32 = b.data(), .row_stride = 1}, &c, {.round_operands_to_bf16 = true});
  EXPECT_EQ(c, 256.0F);
  const bfloat16 narrow(3.0F);
  gemm(workspace, 1, 1, 1, {.bf16 = &narrow, .row_stride = 1},
       {.float32 = b.data(), .row_stride = 1}, &c, {});
  EXPECT_EQ(c, 3.0F * (1.0F + 0x1p-9F));
}

}  // namespace
}  // namespace infeed::detail
