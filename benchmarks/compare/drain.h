#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <infeed/infeed.h>

#include "row.h"

namespace infeed::compare {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Makes the optimiser believe that the value is needed.
inline void use(std::uint64_t value) { asm volatile("" : : "r"(value)); }

// touch() reads enough of an element that it must really exist.
inline std::uint64_t touch(std::int64_t value) { return static_cast<std::uint64_t>(value); }
inline std::uint64_t touch(const std::string& text) { return text.size(); }
template <class A, class B>
std::uint64_t touch(const std::pair<A, B>& both) {
  return touch(both.first) + touch(both.second);
}
template <class... Ts>
std::uint64_t touch(const std::tuple<Ts...>& all) {
  return std::apply([](const auto&... each) { return (touch(each) + ...); }, all);
}
template <class T>
std::uint64_t touch(const Batch<T>& batch) {
  return batch.size();
}
template <class T>
std::uint64_t touch(const PaddedBatch<T>& batch) {
  return batch.size();
}
template <class T>
std::uint64_t touch(const std::vector<T>& window) {
  return window.size();
}

/// Takes all elements. Returns the time, without making the iterator.
template <class T>
double drain(const Dataset<T>& dataset) {
  Iterator<T> iterator = dataset.iterate();
  const auto start = Clock::now();
  std::uint64_t sum = 0;
  for (auto ready = iterator.peek(); !ready.empty(); ready = iterator.peek()) {
    for (const T& element : ready) sum += touch(element);
    iterator.take(ready.size());
  }
  use(sum);
  return seconds_since(start);
}

/// Warms up, and finds how many elements take about a third of the time to measure.
template <class Make>
std::int64_t elements_to_measure(const RunOptions& options, Make make) {
  std::int64_t n = 20'000;
  double seconds = 0;
  for (;;) {
    seconds = drain(make(n));
    if (seconds > options.measure_seconds / 8) break;
    n *= 4;
  }
  if (options.elements > 0) return options.elements;
  return std::max(n, static_cast<std::int64_t>(static_cast<double>(n) * options.measure_seconds /
                                               (3 * seconds)));
}

/// Returns the seconds that make(n) takes without a recording and with one, measured by turns in
/// one process, so that other load and the places in memory are the same for both. The first is the
/// median, the second that times the median of the pairs' ratios.
template <class Make>
std::pair<double, double> seconds_without_and_with_recording(const RunOptions& options, Make make,
                                                             std::int64_t n) {
  constexpr int kTurns = 9;
  const auto recorded = [&] {
    ::setenv("INFEED_PROFILE", options.recording.c_str(), 1);
    const double seconds = drain(make(n));
    ::unsetenv("INFEED_PROFILE");
    return seconds;
  };
  std::vector<double> without, ratios;
  double with = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    // Each of the two is the first one in every other pair.
    if (turn % 2 == 0) with = recorded();
    without.push_back(drain(make(n)));
    if (turn % 2 != 0) with = recorded();
    ratios.push_back(with / without.back());
  }
  return {median(without), median(without) * median(ratios)};
}

/// Returns nanoseconds an element of make(n), drained; n is the number of the tested stage's
/// inputs. The median of three repetitions after a warm-up.
template <class Make>
Measurement ns_an_element(const RunOptions& options, Make make) {
  const std::int64_t n = elements_to_measure(options, make);
  const double to_ns = 1e9 / static_cast<double>(n);
  if (!options.recording.empty()) {
    const auto [without, with] = seconds_without_and_with_recording(options, make, n);
    return {without * to_ns, with * to_ns};
  }
  std::vector<double> repetitions;
  for (int i = 0; i < 3; ++i) repetitions.push_back(drain(make(n)) * to_ns);
  return {median(repetitions)};
}

template <class Make>
Row ns_row(std::string name, Make make) {
  return {std::move(name), [make](const RunOptions& run) { return ns_an_element(run, make); }};
}

}  // namespace infeed::compare
