#pragma once

#include <cstdint>
#include <functional>
#include <vector>

/// Why: the learning rate of a step is a function of its number, so that a run that was stopped goes
/// on with the right one.
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
/// Steps count from 0. The same bits on every machine: no cosine or power of a library.
/// Errors: invalid_argument: a rate that is negative or not finite, as given or scaled; steps or a batch
/// below 1; a schedule or function that is empty.
namespace infeed::nn {

using Schedule = std::function<double(std::uint64_t step)>;

Schedule constant_rate(double rate);
/// From rate / steps, by equal amounts, to what `then` says; `then` counts from its own step 0 when
/// warming up is over, and gives the peak.
Schedule warm_up(std::uint64_t steps, Schedule then);
/// From rate to rate * floor along half a cosine; stays there.
Schedule cosine_decay(double rate, std::uint64_t steps, double floor = 0);
/// Times `factor` at each of the boundaries, which ascend.
Schedule step_decay(double rate, std::vector<std::uint64_t> boundaries, double factor = 0.1);
/// (rate - last) * (1 - step / steps)^power + last; stays there.
Schedule polynomial_decay(double rate, double last, std::uint64_t steps, double power = 1);

/// The way a rate grows with the batch; batch_rule() of optimizers.h says which one an optimiser takes.
enum class BatchRule : std::uint8_t {
  linear,  ///< with the batch (Goyal et al. 2017): SGD and its kin
  root,    ///< with its square root (Malladi et al. 2022): Adam and AdamW
};

/// A rate that was found for one batch, to be used with another.
struct ScaledRate {
  double base_rate = 0.1;  ///< at `base_batch` examples a step
  std::int64_t base_batch = 256;
  std::int64_t global_batch = 0;  ///< examples of a step over all replicas; it must be given
  BatchRule rule = BatchRule::linear;
  std::uint64_t warm_up_steps = 0;  ///< of the gradual warm-up; those of five epochs in the paper
};

/// Returns base_rate * k, or base_rate * sqrt(k), with k = global_batch / base_batch.
double scaled_rate(const ScaledRate& options);
/// Goes from base_rate to the scaled rate by equal amounts (Goyal et al. 2017, section 2.2), and then on by
/// what `after` makes of the scaled rate, from its own step 0. A rate that is scaled down is reached at
/// once.
Schedule scaled_with_batch(const ScaledRate& options,
                           const std::function<Schedule(double peak)>& after = constant_rate);

}  // namespace infeed::nn
