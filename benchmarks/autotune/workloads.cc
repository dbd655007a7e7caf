#include <thread>

#include <infeed/infeed.h>

#include "record_workloads.h"
#include "workload.h"

namespace infeed::autotuning {
namespace {

using std::chrono::duration;
using Number = std::int64_t;

volatile std::uint64_t g_sink;

std::uint64_t spin(std::uint64_t rounds, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < rounds; ++i)
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
  return seed;
}

/// Rounds of spin() that take a microsecond on a core that nobody else has: the best of several.
double rounds_per_us() {
  static const double rounds = [] {
    double best = 0;
    for (int i = 0; i < 20; ++i) {
      constexpr std::uint64_t kRounds = 200'000;
      const auto begin = std::chrono::steady_clock::now();
      g_sink = spin(kRounds, static_cast<std::uint64_t>(i));
      const duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      best = std::max(best, static_cast<double>(kRounds) / took.count());
    }
    return best;
  }();
  return rounds;
}

void wait_us(double us) { std::this_thread::sleep_for(duration<double, std::micro>(us)); }

auto computes(double us) {
  return [us](Number number) {
    g_sink = compute(us, static_cast<std::uint64_t>(number));
    return number;
  };
}

auto waits(double us) {
  return [us](Number number) {
    wait_us(us);
    return number;
  };
}

constexpr Number kEndless = Number{1} << 50;

Outcome drain(const Dataset<Number>& dataset, const RunOptions& options) {
  return take_all(dataset, options, [](Number) {});
}

/// A consumer that is busy for so long with each element, on its own core or elsewhere.
Outcome step(const Dataset<Number>& dataset, const RunOptions& options, double us) {
  return take_all(dataset, options, [us](Number) { wait_us(us); });
}

Workload simple(std::string name, std::function<Dataset<Number>()> describe, double step_us = 0) {
  return {std::move(name), [describe, step_us](const RunOptions& options) {
            return step_us == 0 ? drain(describe(), options) : step(describe(), options, step_us);
          }};
}

/// 50 us of computing for the first half of the run, 2 ms of waiting for the second.
Outcome phase_change(const RunOptions& options) {
  const auto change = std::chrono::steady_clock::now() + duration<double>(options.seconds / 2);
  const auto function = [change](Number number) {
    if (std::chrono::steady_clock::now() < change) return computes(50)(number);
    return waits(2000)(number);
  };
  return drain(range(kEndless) | map(function, {.parallelism = autotune}) | prefetch(), options);
}

}  // namespace

std::uint64_t compute(double us, std::uint64_t seed) {
  return spin(static_cast<std::uint64_t>(us * rounds_per_us()), seed);
}

std::vector<Workload> workloads() {
  std::vector<Workload> all = {
      simple("computing",
             [] {
               return range(kEndless) | map(computes(200), {.parallelism = autotune}) | prefetch();
             }),
      simple("waiting",
             [] {
               return range(kEndless) | map(waits(5000), {.parallelism = autotune}) | prefetch();
             }),
      simple(
          "waiting, slow consumer",
          [] { return range(kEndless) | map(waits(5000), {.parallelism = autotune}) | prefetch(); },
          1000),
      simple("two in balance",
             [] {
               return range(kEndless) | map(computes(100), {.parallelism = autotune, .name = "a"}) |
                      map(computes(100), {.parallelism = autotune, .name = "b"}) | prefetch();
             }),
      simple("waiting and computing",
             [] {
               return range(kEndless) | map(waits(1000), {.parallelism = autotune, .name = "a"}) |
                      map(computes(100), {.parallelism = autotune, .name = "b"}) | prefetch();
             }),
      simple("tiny elements",
             [] {
               return range(kEndless) |
                      map([](Number number) { return number * 3; }, {.parallelism = autotune}) |
                      prefetch();
             }),
      simple("one of 100 is slow",
             [] {
               return range(kEndless) |
                      map(
                          [](Number number) {
                            const bool is_slow =
                                static_cast<std::uint64_t>(number) * 0x9E3779B97F4A7C15ULL >> 57 ==
                                0;
                            return computes(is_slow ? 2000 : 20)(number);
                          },
                          {.parallelism = autotune}) |
                      prefetch();
             }),
      simple(
          "storage stalls",
          [] {
            return range(kEndless) | map([](Number number) {
                     if (number % 2000 == 1999) wait_us(200'000);
                     return number;
                   }) |
                   map(computes(50), {.parallelism = autotune}) | prefetch();
          },
          200),
      simple(
          "cached",
          [] {
            return range(2000) | map(computes(100), {.parallelism = autotune}) | cache() |
                   repeat() | prefetch();
          },
          0),
      simple(
          "slow consumer",
          [] {
            return range(kEndless) | map(computes(100), {.parallelism = autotune}) | prefetch();
          },
          1000),
      simple("a serial filter",
             [] {
               return range(kEndless) |
                      filter([](Number number) { return computes(40)(number) >= 0; }) |
                      map(computes(20), {.parallelism = autotune}) | prefetch();
             }),
      {"another phase", phase_change},
  };
  for (Workload& workload : record_workloads()) all.push_back(std::move(workload));
  return all;
}

}  // namespace infeed::autotuning
