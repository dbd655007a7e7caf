#pragma once

#include <cstdint>
#include <functional>
#include <vector>

/// Why: the learning rate of a step is a function of its number, so that a run that was stopped goes
/// on with the right one.
///
///     namespace nn = infeed::nn;
///     double peak = nn::linearly_scaled_rate(0.1, 4096);                 // 1.6
///     nn::Schedule rate = nn::warm_up(5'000, nn::cosine_decay(peak, 100'000));
///     rate(2'499);                                                       // 0.8
///
/// Steps count from 0. The same bits on every machine: no cosine or power of a library.
/// Errors: invalid_argument: a rate that is negative or not finite, steps below 1.
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

/// The rule of Goyal et al. (2017): a k times larger batch takes a k times larger rate.
double linearly_scaled_rate(double base_rate, std::int64_t global_batch,
                            std::int64_t base_batch = 256);

}  // namespace infeed::nn
