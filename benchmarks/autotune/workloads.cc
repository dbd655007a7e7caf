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

/// Returns the rounds of spin() that take a microsecond on a core of its own: the best of several.
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
// A cache has to be filled before it helps.
constexpr Number kCached = 200;

/// Returns numbers without an end, or as many as a cache holds.
Dataset<Number> numbers(const Variation& variation) {
  return range(variation.cached.empty() ? kEndless : kCached);
}

/// Adds a cache behind the stage of this label, if the variation asks for it.
Dataset<Number> kept(Dataset<Number> dataset, const Variation& variation, const char* label) {
  if (variation.cached != label) return dataset;
  return dataset | cache() | repeat();
}

template <class Function>
Dataset<Number> mapped(const Variation& variation, Function function) {
  return kept(numbers(variation) | map(function, {.parallelism = autotune}), variation, "map");
}

/// Two maps that work at the same time.
template <class First, class Second>
Dataset<Number> mapped_twice(const Variation& variation, First first, Second second) {
  const auto firsts = kept(numbers(variation) | map(first, {.parallelism = autotune, .name = "a"}),
                           variation, "map[1] 'a'");
  return kept(firsts | map(second, {.parallelism = autotune, .name = "b"}), variation,
              "map[2] 'b'");
}

struct Shape {
  double step_us = 0;  ///< the consumer works so long, on its own core or elsewhere
  double period_s = 0;
  std::vector<std::string> cacheable = {"map"};
};

Workload simple(std::string name, std::function<Dataset<Number>(const Variation&)> describe,
                Shape shape = {}) {
  const double step_us = shape.step_us;
  const auto run = [describe, step_us](const RunOptions& options) {
    const double us = step_us * options.variation.step;
    const auto dataset = describe(options.variation) | prefetch();
    if (us == 0) return take_all(dataset, options, [](Number) {});
    return take_all(dataset, options, [us](Number) { wait_us(us); });
  };
  return {.name = std::move(name),
          .run = run,
          .has_step = step_us != 0,
          .period_s = shape.period_s,
          .cacheable = std::move(shape.cacheable)};
}

/// A consumer that trains on the cores that the pipeline works on.
Outcome training(const RunOptions& options) {
  return take_all(mapped(options.variation, computes(400)) | prefetch(), options, computes(1000));
}

/// 50 us of computing for the first half of the run, 2 ms of waiting for the second.
Outcome phase_change(const RunOptions& options) {
  const auto change = std::chrono::steady_clock::now() + duration<double>(options.seconds / 2);
  const auto function = [change](Number number) {
    if (std::chrono::steady_clock::now() < change) return computes(50)(number);
    return waits(2000)(number);
  };
  return take_all(range(kEndless) | map(function, {.parallelism = autotune}) | prefetch(), options,
                  [](Number) {});
}

Number one_of_100_is_slow(Number number) {
  const bool is_slow = static_cast<std::uint64_t>(number) * 0x9E3779B97F4A7C15ULL >> 57 == 0;
  return computes(is_slow ? 2000 : 20)(number);
}

Dataset<Number> storage_stalls(const Variation& variation) {
  const auto read = [us = 200'000 * variation.waits](Number number) {
    if (number % 2000 == 1999) wait_us(us);
    return number;
  };
  const auto reads = kept(numbers(variation) | map(read), variation, "map[1]");
  return kept(reads | map(computes(50), {.parallelism = autotune}), variation, "map[2]");
}

Dataset<Number> serial_filter(const Variation& variation) {
  const auto keep = [](Number number) { return computes(40)(number) >= 0; };
  const auto those = kept(numbers(variation) | filter(keep), variation, "filter");
  return kept(those | map(computes(20), {.parallelism = autotune}), variation, "map");
}

}  // namespace

std::uint64_t compute(double us, std::uint64_t seed) {
  return spin(static_cast<std::uint64_t>(us * rounds_per_us()), seed);
}

std::vector<Workload> workloads() {
  const auto wait_long = [](const Variation& of) { return mapped(of, waits(5000 * of.waits)); };
  const Shape two_maps{.cacheable = {"map[1] 'a'", "map[2] 'b'"}};
  std::vector<Workload> all = {
      simple("computing", [](const Variation& of) { return mapped(of, computes(200)); }),
      simple("waiting", wait_long),
      simple("waiting, slow consumer", wait_long, {.step_us = 1000}),
      simple(
          "two in balance",
          [](const Variation& of) { return mapped_twice(of, computes(100), computes(100)); },
          two_maps),
      simple("waiting and computing",
             [](const Variation& of) {
               return mapped_twice(of, waits(1000 * of.waits), computes(100));
             },
             {.cacheable = two_maps.cacheable}),
      simple(
          "tiny elements",
          [](const Variation& of) { return mapped(of, [](Number number) { return number * 3; }); }),
      simple("one of 100 is slow",
             [](const Variation& of) { return mapped(of, one_of_100_is_slow); }),
      simple("storage stalls", storage_stalls,
             {.step_us = 200, .period_s = 0.6, .cacheable = {"map[1]", "map[2]"}}),
      simple("cached",
             [](const Variation&) {
               return range(2000) | map(computes(100), {.parallelism = autotune}) | cache() |
                      repeat();
             },
             {.cacheable = {}}),
      simple("slow consumer", [](const Variation& of) { return mapped(of, computes(100)); },
             {.step_us = 1000}),
      simple("a serial filter", serial_filter, {.cacheable = {"filter", "map"}}),
      {"another phase", phase_change},
      {"training on the cores", training},
  };
  for (Workload& workload : record_workloads()) all.push_back(std::move(workload));
  return all;
}

}  // namespace infeed::autotuning
