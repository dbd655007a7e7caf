#include "growth_row.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "process_status.h"

namespace infeed::growth {
namespace {

using namespace test;

constexpr double kFloorSeconds = 0.002;
constexpr std::uint64_t kFloorBytes = std::uint64_t{4} << 20;
constexpr double kStep = 10;

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <class Figure>
double steepest(const std::vector<Cost>& costs, double floor, const Figure& figure) {
  double most = 0;
  for (std::size_t i = 1; i < costs.size(); ++i) {
    const double before = std::max(floor, static_cast<double>(figure(costs[i - 1])));
    const double after = std::max(floor, static_cast<double>(figure(costs[i])));
    most = std::max(most, std::log(after / before) / std::log(kStep));
  }
  return most;
}

}  // namespace

void Meter::begin() {
  begin_bytes_ = trimmed_resident_bytes();
  restart_resident_peak();
  begin_seconds_ = cpu_seconds();
}

void Meter::stop_clock() { cost_.seconds = cpu_seconds() - begin_seconds_; }

void Meter::end() {
  stop_clock();
  cost_.bytes = beyond(status_bytes("VmHWM"), begin_bytes_);
}

void Meter::end_with_what_is_left() {
  stop_clock();
  cost_.bytes = beyond(status_bytes("VmRSS"), begin_bytes_);
}

double Growth::seconds_exponent() const {
  return steepest(costs, kFloorSeconds, [](const Cost& cost) { return cost.seconds; });
}

double Growth::bytes_exponent() const {
  return steepest(costs, static_cast<double>(kFloorBytes),
                  [](const Cost& cost) { return cost.bytes; });
}

}  // namespace infeed::growth
