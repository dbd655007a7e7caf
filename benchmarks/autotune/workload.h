#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/iterator.h>

/// Why: a tuner must do well on pipelines that it wasn't made for. Each workload is a shape that is
/// known to be hard (shared reference: "Benchmark it honestly"), with everything marked autotune.
/// The driver (autotune.py) runs it by the tuner, and with each setting fixed, to find the best
/// one.
namespace infeed::autotuning {

/// Changes other than knobs; what_if.sh measures their gain.
struct Variation {
  double waits = 1;         ///< waits take so many times as long: 0.5 is faster storage
  double step = 1;          ///< the step takes so many times as long: 0.5 is a faster slice
  std::string cached = {};  ///< label of the stage behind which a cache lies; empty: none
};

struct RunOptions {
  IterateOptions iterate = {};
  double seconds = 5;
  std::filesystem::path data = {};
  Variation variation = {};
};

/// The result of one run.
struct Outcome {
  std::vector<std::uint64_t> elements;  ///< taken in each 100 ms
  TuningReport tuning;
  std::uint64_t memory_peak_bytes = 0;  ///< by the memory account
};

struct Workload {
  std::string name;
  std::function<Outcome(const RunOptions&)> run;
  // Variations that this workload can make:
  bool has_step = false;
  double period_s = 0;                      ///< in which its rate goes up and down; 0: the rate is
                                            ///< even
  std::vector<std::string> cacheable = {};  ///< labels of stages
};

std::vector<Workload> workloads();

/// Computes for about `us` on a free core; the same work however busy the machine is.
std::uint64_t compute(double us, std::uint64_t seed);

inline constexpr std::chrono::milliseconds kBucket{100};

/// Takes elements until the time is over; `use` is the consumer's step.
template <class T, class Use>
Outcome take_all(const Dataset<T>& dataset, const RunOptions& options, Use use) {
  using Clock = std::chrono::steady_clock;
  Outcome outcome;
  auto iterator = dataset.iterate(options.iterate);
  const auto begin = Clock::now();
  const auto end = begin + std::chrono::duration<double>(options.seconds);
  outcome.elements.push_back(0);
  auto bucket_end = begin + kBucket;
  for (auto now = begin; now < end; now = Clock::now()) {
    for (; now >= bucket_end; bucket_end += kBucket) outcome.elements.push_back(0);
    const auto element = iterator.next();
    if (!element) break;
    use(*element);
    ++outcome.elements.back();
  }
  outcome.tuning = iterator.tuning();
  outcome.memory_peak_bytes = iterator.memory().peak_bytes();
  return outcome;
}

}  // namespace infeed::autotuning
