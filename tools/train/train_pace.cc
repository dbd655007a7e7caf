#include "train/train_pace.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "cli/terminal.h"

namespace infeed::tools {
namespace {

// HIGHLY begins where a fifth of the time is waiting, which is a step of four fifths of a batch.
constexpr double kNaiveRoom = 0.75;
/// How much longer than a batch of the tuned pipeline a step should be. With 1.3 it still waited a
/// tenth of the time, since not every batch takes as long; 1.2 is the least.
constexpr double kTunedRooms[] = {1.6, 1.2};

double us_of(const Pace& pace) { return static_cast<double>(pace.step.total_ps()) / 1e6; }

/// How many times too fast (for the tuned pipeline) or too slow (for the naive one to be held up by
/// itself) the network is; up to 1 it fits.
double misfit(const Pace& pace, const BatchTimes& times, double tuned_room) {
  return std::max(tuned_room * times.tuned_us / us_of(pace),
                  us_of(pace) / (kNaiveRoom * times.naive_us));
}

double batch_us(const MeasuredRun& run) {
  return run.summary.steps_per_s > 0 ? 1e6 / run.summary.steps_per_s : 0;
}

}  // namespace

BatchTimes batch_times(const MeasuredRun& naive, const MeasuredRun& tuned) {
  return {.naive_us = batch_us(naive), .tuned_us = batch_us(tuned)};
}

std::vector<Pace> paces_of(const Slice& slice, std::int64_t batch) {
  std::vector<Pace> paces;
  for (const std::string_view name : workload_names()) {
    if (name == "resnet50") continue;  // its images are others
    paces.push_back({std::string(name), step_time(workload(name), slice, batch)});
  }
  std::ranges::sort(paces, {}, us_of);
  return paces;
}

ChosenPace choose_pace(const std::vector<Pace>& paces, const BatchTimes& times,
                       const std::function<bool(const Pace&)>& fits_when_tried) {
  for (const double room : kTunedRooms) {
    for (const Pace& pace : paces) {
      if (misfit(pace, times, room) > 1) continue;
      if (fits_when_tried(pace)) return {.pace = pace, .fits = true};
    }
  }
  return {.pace = *std::ranges::min_element(
              paces, {}, [&](const Pace& pace) { return misfit(pace, times, kTunedRooms[0]); })};
}

std::vector<std::string> reason_for(const ChosenPace& chosen, const BatchTimes& times) {
  return {
      fmt::format("Chosen by measuring: a batch takes the naive pipeline {} us, all tricks {} us.",
                  with_commas(std::llround(times.naive_us)),
                  with_commas(std::llround(times.tuned_us))),
      chosen.fits ? "Of the networks it has the shortest step that only the latter keeps up with."
                  : "No network's step is surely between the two; this one's comes nearest."};
}

}  // namespace infeed::tools
