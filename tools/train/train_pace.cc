#include "train/train_pace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <string_view>

#include "cli/terminal.h"

namespace infeed::tools {
namespace {

// HIGHLY begins where a fifth of the time is waiting, which is a step of four fifths of a batch.
constexpr double kNaiveRoom = 0.75;
/// How much longer than a batch of the tuned pipeline a step should be. Whether the pipeline keeps up
/// with it is seen when it is tried; much more room would pass over the networks that are worth trying
/// and take one that is so slow that it hides what the tricks are worth.
constexpr double kTunedRoom = 1.05;
/// Whose inputs are no images of 28x28.
constexpr std::array<std::string_view, 5> kOtherInputs = {"resnet50", "bert-large", "gpt2-small",
                                                          "gpt2-1.5b", "dlrm"};

double us_of(const Pace& pace) { return static_cast<double>(pace.step.total_ps()) / 1e6; }

/// How many times too fast (for the tuned pipeline) or too slow (for the naive one to be held up by
/// itself) the network is; up to 1 it fits.
double misfit(const Pace& pace, const BatchTimes& times) {
  return std::max(kTunedRoom * times.tuned_us / us_of(pace),
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
    if (std::ranges::find(kOtherInputs, name) != kOtherInputs.end()) continue;
    paces.push_back({std::string(name), step_time(workload(name), slice, batch)});
  }
  std::ranges::sort(paces, {}, us_of);
  return paces;
}

ChosenPace choose_pace(const std::vector<Pace>& paces, const BatchTimes& times,
                       const std::function<bool(const Pace&)>& fits_when_tried) {
  for (const Pace& pace : paces) {
    if (misfit(pace, times) > 1) continue;
    if (fits_when_tried(pace)) return {.pace = pace, .fits = true};
  }
  return {.pace = *std::ranges::min_element(paces, {},
                                            [&](const Pace& pace) { return misfit(pace, times); })};
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
