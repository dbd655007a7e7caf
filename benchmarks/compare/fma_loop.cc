#include "fma_loop.h"

#include <algorithm>
#include <cstdint>

#include "drain.h"

namespace infeed::compare {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
constexpr int kChains = 12;  // two units, four cycles for a result, and some more
constexpr std::int64_t kRounds = 200'000;

using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));

float run_chains(float factor, float term) {
  Vector sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = Vector{} + static_cast<float>(i);
  for (std::int64_t round = 0; round < kRounds; ++round) {
    for (Vector& sum : sums) sum = sum * factor + term;
  }
  float total = 0;
  for (const Vector& sum : sums) total += sum[0];
  return total;
}

}  // namespace

double fma_peak_per_s(double seconds) {
  volatile float factor = 0.5F;
  volatile float term = 1.0F;
  double best = 0;
  const auto start = Clock::now();
  do {
    const auto begin = Clock::now();
    use(static_cast<std::uint64_t>(run_chains(factor, term)));
    best = std::max(best, 2.0 * kLanes * kChains * kRounds / seconds_since(begin));
  } while (seconds_since(start) < seconds);
  return best;
}

}  // namespace infeed::compare
