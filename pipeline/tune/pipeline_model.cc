#include "tune/pipeline_model.h"

#include <algorithm>

namespace infeed::detail {
namespace {

// The time in which windows fade: long enough for thirty uneven elements, short enough that only
// the last two seconds count.
constexpr double kFadeNs = 1e9;
// The time in which visits fade: longer than the largest buffers take to fill up.
constexpr double kVisitsFadeNs = 20e9;
// Cores of others below this are the machine's own housekeeping.
constexpr double kOthersMatter = 0.15;
constexpr double kWantedByOthers = 0.3;
// Elements come in bursts, and a buffer helps, if waits differ by this much from window to window:
// deviation over mean.
constexpr double kBurst = 0.5;
constexpr double kBurstNs = 10e6;
// Waiting for a core that other processes want is no burst.
constexpr double kBurstAmongOthersNs = 100e6;
constexpr int kBurstWindows = 8;

const KnobState* workers_of(const TuningObservation& of, int stage) {
  for (const KnobState& knob : of.knobs) {
    if (knob.stage == stage && knob.kind == KnobKind::workers) return &knob;
  }
  return nullptr;
}

}  // namespace

double cores_for(const TuningObservation& seen) {
  if (seen.cores_of_others < kOthersMatter || seen.window_ns == 0) return seen.cores;
  const double own = static_cast<double>(seen.process_cpu_ns) / static_cast<double>(seen.window_ns);
  // The kernel shares cores evenly between those who want them.
  return std::clamp(seen.cores - seen.cores_of_others,
                    std::min(seen.cores, std::max(own, seen.cores / 2)), seen.cores);
}

bool others_want_cores(const TuningObservation& seen) {
  return cores_for(seen) < seen.cores - kWantedByOthers;
}

void PipelineModel::add(const TuningObservation& window) {
  const auto ns = static_cast<double>(window.window_ns);
  const double kept = weight_ns_ == 0 ? 0 : kFadeNs / (kFadeNs + ns);
  stages_.resize(window.stages.size());
  for (Cost& cost : stages_)
    cost = {cost.cpu_ns * kept, cost.blocked_ns * kept, cost.elements * kept};
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    stages_[i].cpu_ns += static_cast<double>(window.stages[i].cpu_ns);
    stages_[i].blocked_ns += static_cast<double>(window.stages[i].blocked_ns);
    stages_[i].elements += static_cast<double>(window.stages[i].elements);
  }
  count_visits(window);
  count_waits(window);
  const auto waited = static_cast<double>(std::min(window.consumer_wait_ns, window.window_ns));
  elements_ = elements_ * kept + static_cast<double>(window.elements);
  weight_ns_ = weight_ns_ * kept + ns;
  consumer_ns_ = consumer_ns_ * kept + ns - waited;
  cpu_ns_ = cpu_ns_ * kept + static_cast<double>(window.process_cpu_ns);
}

void PipelineModel::forget() {
  PipelineModel emptied;
  emptied.handled_ = std::move(handled_);
  emptied.visits_ = std::move(visits_);
  emptied.taken_ = taken_;
  *this = std::move(emptied);
}

/// Counts elements in buffers on the way to the consumer, too, since they will be taken.
void PipelineModel::count_visits(const TuningObservation& window) {
  const double kept = kVisitsFadeNs / (kVisitsFadeNs + static_cast<double>(window.window_ns));
  taken_ = taken_ * kept + static_cast<double>(window.elements);
  handled_.resize(window.stages.size());
  visits_.assign(window.stages.size(), 0);
  std::vector<double> on_the_way(window.stages.size());
  for (std::size_t i = 0; i < window.stages.size(); ++i) {
    const StageObservation& stage = window.stages[i];
    handled_[i] = handled_[i] * kept + static_cast<double>(stage.elements);
    const double before =
        stage.consumer < 0 ? 0 : on_the_way[static_cast<std::size_t>(stage.consumer)];
    const double asked = taken_ + before;
    visits_[i] = asked == 0 ? 0 : handled_[i] / asked;
    const double held = static_cast<double>(stage.buffered_elements);
    on_the_way[i] = before + (visits_[i] == 0 ? 0 : held / visits_[i]);
  }
}

void PipelineModel::count_waits(const TuningObservation& window) {
  waits_.resize(window.stages.size());
  const double part = 1e9 / static_cast<double>(window.window_ns);
  for (std::size_t i = 0; i < waits_.size(); ++i) {
    const double blocked_ns = static_cast<double>(window.stages[i].blocked_ns) * part;
    waits_[i].sum += blocked_ns;
    waits_[i].squares += blocked_ns * blocked_ns;
  }
  ++windows_;
}

bool PipelineModel::comes_in_bursts(const TuningObservation& seen) const {
  if (windows_ < kBurstWindows) return true;  // nobody knows yet
  const double burst_ns = others_want_cores(seen) ? kBurstAmongOthersNs : kBurstNs;
  return std::any_of(waits_.begin(), waits_.end(), [&](const Waits& stage) {
    const double mean = stage.sum / windows_;
    const double variance = stage.squares / windows_ - mean * mean;
    return mean > burst_ns && variance > kBurst * kBurst * mean * mean;
  });
}

double PipelineModel::measured_rate() const {
  return weight_ns_ == 0 ? 0 : elements_ * 1e9 / weight_ns_;
}

double PipelineModel::stage_ns(int stage) const {
  return stage_calls_ns(stage) * visits_[static_cast<std::size_t>(stage)];
}

double PipelineModel::stage_calls_ns(int stage) const {
  const Cost& cost = stages_[static_cast<std::size_t>(stage)];
  return cost.elements == 0 ? 0 : (cost.cpu_ns + cost.blocked_ns) / cost.elements;
}

namespace {

/// Walks from the consumer to the sources, thread by thread, and keeps the slowest lane.
class LaneWalk {
 public:
  LaneWalk(const PipelineModel& model, const TuningObservation& of,
           std::span<const std::int64_t> values, double headroom)
      : model_(model), of_(of), values_(values), headroom_(headroom) {}

  /// Returns the time that the consumer's thread spends in the pipeline.
  double root() {
    double inside = 0;
    for (int i = 0; i < size(); ++i) {
      if (of_.stages[static_cast<std::size_t>(i)].consumer < 0) inside += visit(i);
    }
    return inside;
  }
  double slowest_ns() const { return slowest_ns_; }
  int slowest() const { return slowest_; }

 private:
  int size() const { return static_cast<int>(of_.stages.size()); }

  /// Returns the time that the thread that pulls the stage spends in it.
  double visit(int stage) {
    double outer = 0;
    double inner = 0;
    for (int i = stage + 1; i < size(); ++i) {
      const StageObservation& below = of_.stages[static_cast<std::size_t>(i)];
      if (below.consumer == stage) (below.inside == stage ? inner : outer) += visit(i);
    }
    const double own = model_.stage_ns(stage);
    const KnobState* const knob = workers_of(of_, stage);
    const std::int64_t workers =
        knob == nullptr ? 0 : values_[static_cast<std::size_t>(knob - of_.knobs.data())];
    if (workers == 0) return own + inner + outer;
    const double share = headroom_ / static_cast<double>(workers);
    switch (knob->shape) {
      case KnobShape::driver:
        lane((outer + inner) * headroom_, stage);
        return own;
      case KnobShape::behind:
        lane(outer, stage);
        lane((own + inner) * share, stage);
        return 0;
      case KnobShape::readers:
        lane(outer, stage);
        lane((own + inner + outer) * share, stage);
        return 0;
      case KnobShape::inner:
        lane(outer, stage);
        lane((own + inner) * share, stage);
        return 0;
      case KnobShape::segments:
        lane((own + inner + outer) * share, stage);
        return 0;
    }
    return 0;
  }

  void lane(double ns, int stage) {
    if (ns <= slowest_ns_) return;
    slowest_ns_ = ns;
    slowest_ = stage;
  }

  const PipelineModel& model_;
  const TuningObservation& of_;
  const std::span<const std::int64_t> values_;
  const double headroom_;
  double slowest_ns_ = 0;
  int slowest_ = PipelineModel::kConsumer;
};

}  // namespace

PipelineModel::Forecast PipelineModel::forecast(const TuningObservation& of,
                                                std::span<const std::int64_t> values,
                                                double headroom) const {
  if (elements_ == 0) return {};
  LaneWalk walk(*this, of, values, headroom);
  const double consumer_lane_ns = walk.root() * headroom + consumer_ns();
  const double cores_ns = cpu_ns() / cores_for(of);
  const double slowest_ns = std::max({walk.slowest_ns(), consumer_lane_ns, cores_ns, 1e-3});
  int stage = walk.slowest();
  if (cores_ns == slowest_ns) stage = kCores;
  if (consumer_lane_ns == slowest_ns) stage = kConsumer;
  return {.rate = 1e9 / slowest_ns, .stage = stage, .consumer_ns = consumer_lane_ns};
}

PipelineModel::Forecast PipelineModel::forecast_cached(const TuningObservation& of,
                                                       std::span<const std::int64_t> values,
                                                       int stage) const {
  PipelineModel cached = *this;
  double all_ns = 0;
  double saved_ns = 0;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    int above = static_cast<int>(i);
    while (above >= 0 && above != stage)
      above = of.stages[static_cast<std::size_t>(above)].consumer;
    all_ns += stages_[i].cpu_ns;
    if (above != stage) continue;
    saved_ns += stages_[i].cpu_ns;
    cached.stages_[i].cpu_ns = cached.stages_[i].blocked_ns = 0;
  }
  cached.cpu_ns_ *= 1 - saved_ns / std::max(1.0, all_ns);
  return cached.forecast(of, values);
}

double PipelineModel::blocked_share() const {
  double cpu_ns = 0;
  double blocked_ns = 0;
  for (const Cost& cost : stages_) {
    cpu_ns += cost.cpu_ns;
    blocked_ns += cost.blocked_ns;
  }
  return blocked_ns / std::max(1.0, cpu_ns + blocked_ns);
}

double PipelineModel::elements_on_the_way(const TuningObservation& seen) const {
  double elements = 0;
  for (std::size_t i = 0; i < std::min(seen.stages.size(), visits_.size()); ++i) {
    if (visits_[i] <= 0) continue;
    elements += static_cast<double>(seen.stages[i].buffered_elements) / visits_[i];
  }
  return elements;
}

double PipelineModel::serial_rate(const TuningObservation& of) const {
  if (elements_ == 0) return 0;
  double ns = consumer_ns();
  for (int i = 0; i < static_cast<int>(of.stages.size()); ++i) ns += stage_ns(i);
  const double cores_ns = cpu_ns() / cores_for(of);
  return 1e9 / std::max({ns, cores_ns, 1e-3});
}

}  // namespace infeed::detail
