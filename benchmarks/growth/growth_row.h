#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Why: a cost that grows with the square of the work shows at a user's first large job, never in a
/// small test. A row does the same thing at three sizes, each ten times the one before, and compares
/// what they cost. Nothing depends on how quick the machine is.
namespace infeed::growth {

struct Cost {
  double seconds = 0;  ///< CPU time of all cores, which other programs hardly change
  std::uint64_t bytes = 0;
};

/// Measures the part of a row that is not set-up. A row has a process of its own for each size.
class Meter {
 public:
  /// Begins to measure: the set-up is done.
  void begin();
  /// Ends the measurement, with the peak of the memory beyond that at begin().
  void end();
  /// Ends the measurement, with the memory that is still held.
  void end_with_what_is_left();
  const Cost& cost() const { return cost_; }

 private:
  void stop_clock();

  double begin_seconds_ = 0;
  std::uint64_t begin_bytes_ = 0;
  Cost cost_;
};

/// How many times as much as linear growth a step may cost.
constexpr double kLinear = 1.5;

struct Row {
  std::string multiplied;  ///< "files"
  std::string name;
  std::uint64_t first = 1;  ///< the smallest size
  std::uint64_t first_short = 1;
  std::function<void(std::uint64_t size, Meter& meter)> run = {};
  double seconds_max = kLinear;  ///< as kLinear; more only with a reason
  double bytes_max = kLinear;
  std::string reason = {};
};

/// The costs of a row's sizes.
struct Growth {
  std::vector<std::uint64_t> sizes;
  std::vector<Cost> costs;

  // The exponent of the steepest step: 1 is linear. What lies below a floor counts as the floor,
  // since it is the process's own.
  double seconds_exponent() const;
  double bytes_exponent() const;
};

std::vector<Row> file_rows();
std::vector<Row> pipeline_rows();  ///< stages, datasets, buffers
std::vector<Row> run_rows();       ///< iterators, epochs

}  // namespace infeed::growth
