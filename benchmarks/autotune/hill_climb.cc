#include "hill_climb.h"

#include <cstdint>

namespace infeed::autotuning {
namespace {

constexpr std::uint64_t kWindowNs = 200'000'000;
constexpr double kGain = 1.02;

class HillClimb final : public TuningPolicy {
 public:
  TuningDecision observe(const TuningObservation& seen) override {
    TuningDecision decision;
    ns_ += seen.window_ns;
    elements_ += seen.elements;
    if (ns_ < kWindowNs || elements_ == 0 || seen.knobs.empty()) return decision;
    const double rate = static_cast<double>(elements_) / static_cast<double>(ns_);
    ns_ = elements_ = 0;
    const KnobState& knob = seen.knobs[next_ % seen.knobs.size()];
    if (has_stepped_ && rate < kGain * rate_) {
      decision.settings.push_back({knob.id, before_});
      ++next_;
      has_stepped_ = false;
      return decision;
    }
    rate_ = rate;
    before_ = knob.value;
    has_stepped_ = knob.value < knob.max;
    if (has_stepped_) {
      decision.settings.push_back({knob.id, knob.value + 1});
    } else {
      ++next_;
    }
    return decision;
  }

 private:
  std::uint64_t ns_ = 0;
  std::uint64_t elements_ = 0;
  std::size_t next_ = 0;
  bool has_stepped_ = false;
  std::int64_t before_ = 0;
  double rate_ = 0;
};

}  // namespace

std::shared_ptr<TuningPolicy> hill_climb() { return std::make_shared<HillClimb>(); }

}  // namespace infeed::autotuning
