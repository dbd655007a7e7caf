#include "engine/tuning/knobs.h"

namespace infeed::detail {

Knob::Knob(Knobs& knobs, const StageCounters& counters, const KnobSpec& spec,
           std::function<void(std::int64_t)> set)
    : knobs_(knobs),
      counters_(counters),
      kind_(spec.kind),
      min_(spec.min),
      is_fixed_(spec.min == spec.max),
      set_(std::move(set)),
      value_(spec.value),
      max_(spec.max),
      shape_(spec.shape) {
  if (counters_.outer == nullptr) knobs_.add(*this);
}

Knob::~Knob() {
  if (counters_.outer == nullptr) knobs_.remove(*this);
}

void Knobs::add(Knob& knob) {
  const std::lock_guard lock(mutex_);
  knob.bound_min_ = knob.min_;
  knob.bound_max_ = INT64_MAX;
  for (const KnobBound& bound : bounds_) {
    if (bound.kind != knob.kind_ || bound.stage != knob.counters_.label || knob.is_fixed_) continue;
    knob.bound_min_ = std::max(knob.min_, bound.min);
    knob.bound_max_ = bound.max;
  }
  const auto [place, is_new] =
      known_.try_emplace({&knob.counters_, knob.kind_}, Known{known_.size(), 0});
  Known& known = place->second;
  knob.id_ = known.id;
  if (known.is_refused) knob.refuse();
  const std::int64_t value = is_new ? knob.value() : known.value;
  const std::int64_t most = std::min(knob.max_.load(), knob.bound_max_);
  const std::int64_t begin = std::clamp(value, std::min(knob.bound_min_, most), most);
  knob.value_ = known.value = knob.is_fixed_ ? knob.value() : begin;
  knobs_.push_back(&knob);
  if (!knob.is_fixed_ && knob.bound_min_ < knob.bound_max_) can_change_ = true;
}

void Knobs::remove(Knob& knob) {
  const std::lock_guard lock(mutex_);
  Known& known = known_.at({&knob.counters_, knob.kind_});
  known.value = knob.value();
  known.is_refused = !knob.is_fixed_ && knob.max_.load() == 0;
  knobs_.remove(&knob);
}

std::vector<KnobState> Knobs::states(const std::function<int(const StageCounters&)>& index) {
  const std::lock_guard lock(mutex_);
  std::vector<KnobState> states;
  for (Knob* const knob : knobs_) {
    const int stage = index(knob->counters_);
    const auto is_same = [&](const KnobState& other) { return other.id == knob->id_; };
    // Two passes of a repeat may be open; they are set together.
    if (stage < 0 || std::any_of(states.begin(), states.end(), is_same)) continue;
    const std::int64_t value = knob->value();
    const std::int64_t max = std::min(knob->max_.load(), knob->bound_max_);
    const std::int64_t low = knob->low_.exchange(INT64_MAX);
    states.push_back({.id = knob->id_,
                      .stage = stage,
                      .kind = knob->kind_,
                      .shape = knob->shape_,
                      .value = value,
                      .min = knob->is_fixed_ ? value : std::min(knob->bound_min_, max),
                      .max = knob->is_fixed_ ? value : max,
                      .waits = knob->waits_,
                      .low = low == INT64_MAX ? 0 : low});
  }
  return states;
}

void Knobs::set(std::uint64_t id, std::int64_t value) {
  const std::lock_guard lock(mutex_);
  for (Knob* const knob : knobs_) {
    if (knob->id_ != id || knob->is_fixed_) continue;
    const std::int64_t most = std::min(knob->max_.load(), knob->bound_max_);
    value = std::clamp(value, std::min(knob->bound_min_, most), most);
    if (knob->value_.exchange(value) != value) knob->set_(value);
  }
}

}  // namespace infeed::detail
