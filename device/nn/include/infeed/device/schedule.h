#pragma once

#include <cstdint>
#include <functional>
#include <vector>

/// Why: the learning rate is a function of the step's number, so that a resumed run goes on with
/// the right rate.
///
///     namespace nn = infeed::nn;
///     nn::Schedule rate = nn::warm_up(5'000, nn::cosine_decay(1.6, 100'000));
///     rate(2'499);                                                       // 0.8
///     nn::Schedule scaled = nn::scaled_with_batch(
///         {.base_rate = 0.1, .base_batch = 256, .global_batch = 4096, .warm_up_steps = 500},
///         [](double peak) { return nn::cosine_decay(peak, 100'000); });
///     scaled(0);                                                         // 0.1
///     scaled(500);                                                       // 1.6
///
/// Steps count from 0. The bits are the same on every machine: cosine and power come from no
/// library.
/// Errors: invalid_argument: a rate that is negative or not finite, as given or scaled; steps or a
/// batch below 1; a schedule or function that is empty.
namespace infeed::nn {

using Schedule = std::function<double(std::uint64_t step)>;

Schedule constant_rate(double rate);
/// Rises by equal amounts from peak / steps to the peak, which is then(0). After the warm-up `then`
/// takes over and counts from its own step 0.
Schedule warm_up(std::uint64_t steps, Schedule then);
/// Falls from rate to rate * floor along half a cosine, and stays there.
Schedule cosine_decay(double rate, std::uint64_t steps, double floor = 0);
/// Multiplies the rate by `factor` at each of the ascending boundaries.
Schedule step_decay(double rate, std::vector<std::uint64_t> boundaries, double factor = 0.1);
/// Returns (rate - last) * (1 - step / steps)^power + last, and stays there.
Schedule polynomial_decay(double rate, double last, std::uint64_t steps, double power = 1);

/// The way a rate grows with the batch. batch_rule() in optimizers.h returns the rule of an
/// optimiser.
enum class BatchRule : std::uint8_t {
  linear,  ///< with the batch (Goyal et al. 2017): SGD and its kin
  root,    ///< with its square root (Malladi et al. 2022): Adam and AdamW
};

/// A rate that was tuned for one batch size, to be used with another.
struct ScaledRate {
  double base_rate = 0.1;  ///< the rate at `base_batch` examples a step
  std::int64_t base_batch = 256;
  std::int64_t global_batch = 0;  ///< examples of a step over all replicas; required
  BatchRule rule = BatchRule::linear;
  std::uint64_t warm_up_steps = 0;  ///< length of the gradual warm-up; the paper takes five epochs
};

/// Returns base_rate * k, or base_rate * sqrt(k), with k = global_batch / base_batch.
double scaled_rate(const ScaledRate& options);
/// Goes from base_rate to the scaled rate by equal amounts (Goyal et al. 2017, section 2.2). Then
/// the schedule that `after` makes of the scaled rate takes over, from its own step 0. A rate that
/// is scaled down is reached at once.
Schedule scaled_with_batch(const ScaledRate& options,
                           const std::function<Schedule(double peak)>& after = constant_rate);

}  // namespace infeed::nn
