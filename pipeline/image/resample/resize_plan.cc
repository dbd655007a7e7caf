#include "image/resample/resize_plan.h"

#include <algorithm>

namespace infeed::image {
namespace {

constexpr std::uint64_t kWhole = std::uint64_t{1} << ResizePlan::kWeightBits;

/// Returns the nearest integer, ties to even. That makes plans symmetric: if x rounds to n, then
/// kWhole - x rounds to kWhole - n.
template <class Unsigned>
Unsigned rounded_share(Unsigned part, Unsigned sum) {
  const Unsigned doubled = 2 * part * static_cast<Unsigned>(kWhole) + sum;
  const Unsigned rounded = doubled / (2 * sum);
  const bool is_tie = rounded * 2 * sum == doubled;
  return is_tie ? rounded & ~Unsigned{1} : rounded;
}

/// Computes the weight of a pixel for an output, before it is divided by the sum. Places are in
/// units of 1 / (2 x outputs) of a whole pixel, so all of them are integers.
class Kernel {
 public:
  Kernel(const ResizedLine& line, Filter filter)
      : filter_(filter),
        half_(static_cast<std::int64_t>(line.pitch * line.outputs)),
        half_output_(static_cast<std::int64_t>(line.length)),
        begin_(static_cast<std::int64_t>(2 * line.begin * line.outputs)),
        origin_(static_cast<std::int64_t>(line.first_pixel()) * 2 * half_),
        pixels_(static_cast<std::int64_t>(line.pixels())) {
    switch (filter) {
      case Filter::antialias:
        reach_ = 2 * std::max(half_, half_output_);
        break;
      case Filter::bilinear:
        reach_ = 2 * half_;
        break;
      case Filter::area:
        reach_ = half_ + half_output_;
        break;
    }
  }

  std::int64_t centre(std::size_t output) const {
    return begin_ + (2 * static_cast<std::int64_t>(output) + 1) * half_output_ - origin_;
  }
  /// The pixels with a weight are in [first, end).
  std::int64_t first(std::int64_t centre) const {
    return std::clamp<std::int64_t>((centre - reach_) / (2 * half_), 0, pixels_ - 1);
  }
  std::int64_t end(std::int64_t centre) const {
    return std::clamp<std::int64_t>((centre + reach_) / (2 * half_) + 1, 1, pixels_);
  }
  std::int64_t weight(std::int64_t centre, std::int64_t pixel) const {
    const std::int64_t place = (2 * pixel + 1) * half_;
    const std::int64_t distance = place > centre ? place - centre : centre - place;
    if (filter_ != Filter::area) return std::max<std::int64_t>(reach_ - distance, 0);
    // The overlap of the two: at most the shorter one.
    return std::clamp<std::int64_t>(reach_ - distance, 0, 2 * std::min(half_, half_output_));
  }
  /// Returns the most pixel places between -reach and reach, both exclusive.
  std::size_t taps_max() const { return static_cast<std::size_t>((reach_ + half_ - 1) / half_); }

 private:
  const Filter filter_;
  const std::int64_t half_;         ///< half the width of a pixel
  const std::int64_t half_output_;  ///< half the width of a new pixel
  const std::int64_t begin_;
  const std::int64_t origin_;  ///< start of pixel 0
  const std::int64_t pixels_;
  std::int64_t reach_ = 0;  ///< distance from an output's centre where weights become 0
};

/// Rounds the running sums instead of the weights, so that the weights add up exactly.
template <class Unsigned>
void place_weights(const std::vector<std::int64_t>& raw, std::int64_t sum, std::size_t output,
                   std::size_t first_tap, ResizePlan& plan) {
  Unsigned before = 0;
  Unsigned part = 0;
  std::size_t tap = first_tap;
  for (const std::int64_t weight : raw) {
    part += static_cast<Unsigned>(weight);
    const Unsigned upto = rounded_share(part, static_cast<Unsigned>(sum));
    std::int16_t* const group =
        plan.weights.data() +
        (tap / ResizePlan::kGroup * plan.outputs + output) * ResizePlan::kGroup;
    group[tap % ResizePlan::kGroup] = static_cast<std::int16_t>(upto - before);
    before = upto;
    ++tap;
  }
}

}  // namespace

void plan_resize(const ResizedLine& line, Filter filter, ResizePlan& plan) {
  const Kernel kernel(line, filter);
  const std::size_t taps = std::min(kernel.taps_max(), line.pixels());
  plan.outputs = line.outputs;
  plan.groups = (taps + ResizePlan::kGroup - 1) / ResizePlan::kGroup;
  plan.first.resize(line.outputs);
  plan.last.resize(line.outputs);
  plan.weights.assign(plan.groups * line.outputs * ResizePlan::kGroup, 0);
  static thread_local std::vector<std::int64_t> raw;
  for (std::size_t output = 0; output < line.outputs; ++output) {
    const std::int64_t centre = kernel.centre(output);
    std::int64_t first = kernel.first(centre);
    const std::int64_t end = kernel.end(centre);
    while (first + 1 < end && kernel.weight(centre, first) == 0) ++first;
    raw.clear();
    std::int64_t sum = 0;
    for (std::int64_t pixel = first; pixel < end; ++pixel) {
      const std::int64_t weight = kernel.weight(centre, pixel);
      if (weight == 0) break;
      raw.push_back(weight);
      sum += weight;
    }
    // All taps lie in the line if it has that many pixels: kernels read whole groups of taps.
    const auto begin = std::min<std::size_t>(
        static_cast<std::size_t>(first),
        line.pixels() - std::min(line.pixels(), plan.groups * ResizePlan::kGroup));
    const std::size_t first_tap = static_cast<std::size_t>(first) - begin;
    plan.first[output] = static_cast<std::uint32_t>(begin);
    plan.last[output] =
        static_cast<std::uint32_t>(first + static_cast<std::int64_t>(raw.size()) - 1);
    // A 32-bit division takes a third of the time.
    if (static_cast<std::uint64_t>(sum) < std::uint64_t{1} << 16) {
      place_weights<std::uint32_t>(raw, sum, output, first_tap, plan);
    } else {
      place_weights<std::uint64_t>(raw, sum, output, first_tap, plan);
    }
  }
}

void mirror(ResizePlan& plan) {
  std::reverse(plan.first.begin(), plan.first.end());
  std::reverse(plan.last.begin(), plan.last.end());
  for (std::size_t group = 0; group < plan.groups; ++group) {
    std::int16_t* const weights = plan.weights.data() + group * plan.outputs * ResizePlan::kGroup;
    for (std::size_t i = 0, j = plan.outputs - 1; i < j; ++i, --j) {
      std::swap_ranges(weights + i * ResizePlan::kGroup, weights + (i + 1) * ResizePlan::kGroup,
                       weights + j * ResizePlan::kGroup);
    }
  }
}

}  // namespace infeed::image
