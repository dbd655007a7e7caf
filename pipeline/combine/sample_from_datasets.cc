#include "infeed/pipeline/sample_from_datasets.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <infeed/pipeline/detail/seeds.h>
#include <infeed/pipeline/philox.h>

#include "combine/select_stage.h"

namespace infeed::detail {
namespace {

/// The weights from a draw on, of all datasets that are ever drawn.
struct WeightPoint {
  std::uint64_t draw;
  std::vector<double> weights;
};

/// Makes draw k from the k-th 64 bits and from the weights at k.
class Draws final : public Selector {
 public:
  Draws(const std::vector<WeightPoint>& points, WeightChange change, std::uint64_t seed,
        std::uint64_t epoch)
      : points_(points),
        change_(change),
        words_(seed, epoch),
        cumulative_(points.front().weights.size()),
        is_open_(cumulative_.size(), true) {
    sum_up(points.front().weights);
  }

  Next next(std::size_t& index, ErrorPointer&, bool) override {
    if (points_.size() > 1) {
      if (!may_draw_again()) return Next::end;
      set_weights();
    }
    ++draw_;
    const std::uint64_t low = words_();
    const std::uint64_t bits = (std::uint64_t{words_()} << 32 | low) >> 11;
    const double drawn = static_cast<double>(bits) * 0x1p-53 * cumulative_.back();
    // The first sum above the drawn number. Rounding may draw the last sum itself.
    const auto begin = cumulative_.begin();
    const auto found = std::partition_point(begin, begin + static_cast<std::ptrdiff_t>(last_),
                                            [drawn](double sum) { return drawn >= sum; });
    index = static_cast<std::size_t>(found - begin);
    return Next::input;
  }
  void note_end(std::size_t index) override {
    is_open_[index] = false;
    knows_another_ = false;
  }

 private:
  /// Returns true if an open dataset has a weight now or later. Otherwise the draws would never
  /// end. Looks again only when a dataset has ended or a point was passed.
  bool may_draw_again() {
    for (std::size_t p = point_; p < points_.size() && !knows_another_; ++p) {
      for (std::size_t i = 0; i < is_open_.size() && !knows_another_; ++i) {
        knows_another_ = is_open_[i] && points_[p].weights[i] > 0;
      }
    }
    return knows_another_;
  }

  void set_weights() {
    while (point_ + 1 < points_.size() && points_[point_ + 1].draw <= draw_) {
      sum_up(points_[++point_].weights);
      knows_another_ = false;
    }
    if (change_ == WeightChange::at_once || point_ + 1 == points_.size()) return;
    const WeightPoint& from = points_[point_];
    const WeightPoint& to = points_[point_ + 1];
    const double share =
        static_cast<double>(draw_ - from.draw) / static_cast<double>(to.draw - from.draw);
    now_.resize(cumulative_.size());
    for (std::size_t i = 0; i < now_.size(); ++i) {
      now_[i] = from.weights[i] + share * (to.weights[i] - from.weights[i]);
    }
    sum_up(now_);
  }

  void sum_up(const std::vector<double>& weights) {
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] > 0) last_ = i;
      cumulative_[i] = sum += weights[i];
    }
  }

  const std::vector<WeightPoint>& points_;
  const WeightChange change_;
  Philox words_;
  std::uint64_t draw_ = 0;
  std::size_t point_ = 0;  ///< the last one that draw_ has reached
  std::vector<double> cumulative_;
  std::vector<double> now_;
  std::size_t last_ = 0;  ///< last dataset with a weight
  std::vector<bool> is_open_;
  bool knows_another_ = false;  ///< an open dataset will be drawn, as may_draw_again() has found
};

/// The inputs are the datasets that have a weight above 0 at some time: the others are never drawn.
class SampleNode final : public Node {
 public:
  SampleNode(const SampleOptions& options, const Seeds& seeds, std::vector<WeightPoint> points,
             const TypeInfo& type, std::vector<NodePointer> inputs)
      : Node("sample_from_datasets", type, std::move(inputs)),
        options_(options),
        seeds_(seeds),
        points_(std::move(points)) {}

  std::string signature() const override { return signature_with(seeds_); }
  std::optional<Seeds> seeds() const override { return seeds_; }
  std::string signature_with(const Seeds& seeds) const override {
    return fmt::format("sample_from_datasets(weights={}{}, seed={}{}{})",
                       fmt::join(points_.front().weights, " "), schedule_signature(), seeds.seed,
                       options_.stop_on_empty_dataset ? ", stop_on_empty_dataset" : "",
                       options_.reshuffle_each_iteration ? ", reshuffle" : "");
  }
  /// Without stop_on_empty_dataset each dataset is read to its end, unless a schedule ends it
  /// before.
  Cardinality cardinality() const override {
    std::uint64_t sum = 0;
    bool infinite = false;
    for (const NodePointer& node : inputs()) {
      const Cardinality length = node->cardinality();
      if (length.is_unknown()) return Cardinality::unknown();
      infinite |= length.is_infinite();
      sum += length.count();
    }
    const auto& last = points_.back().weights;
    const bool is_left_out = std::count(last.begin(), last.end(), 0.0) > 0;
    const bool may_end_before =
        (options_.stop_on_empty_dataset && sum > 0) || (is_left_out && (sum > 0 || infinite));
    if (may_end_before) return Cardinality::unknown();
    return infinite ? Cardinality::infinite() : Cardinality::finite(sum);
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    const std::uint64_t epoch = options_.reshuffle_each_iteration ? context.epoch + 1 : 0;
    return make_select_stage(
        context, std::make_unique<Draws>(points_, options_.change, context.seeds.seed, epoch),
        open_inputs(context, inputs(), inputs().size()), options_.stop_on_empty_dataset);
  }

 private:
  std::string schedule_signature() const {
    if (points_.size() == 1) return "";
    std::string text = options_.change == WeightChange::linear ? ", linear=[" : ", at_once=[";
    for (std::size_t i = 1; i < points_.size(); ++i) {
      fmt::format_to(std::back_inserter(text), "{}{}/{}", i == 1 ? "" : " ", points_[i].draw,
                     fmt::join(points_[i].weights, "/"));
    }
    return text + "]";
  }

  const SampleOptions options_;
  const Seeds seeds_;
  const std::vector<WeightPoint> points_;
};

void check_weights(const std::vector<double>& weights, std::size_t datasets) {
  const auto is_wrong = [](double weight) { return !std::isfinite(weight) || weight < 0; };
  const bool none = std::none_of(weights.begin(), weights.end(), [](double w) { return w > 0; });
  if (datasets == 0) {
    throw Error(ErrorCode::invalid_argument,
                "sample_from_datasets: there are no datasets; give at least one");
  }
  if (weights.size() != datasets || none || std::any_of(weights.begin(), weights.end(), is_wrong)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("sample_from_datasets: weights are [{}] for {} datasets; give one each, "
                    "at least 0, not all of them 0",
                    fmt::join(weights, ", "), datasets));
  }
}

/// Returns the points of the schedule; the first is at draw 0. Throws Error(invalid_argument).
std::vector<WeightPoint> points_of(const SampleOptions& options, std::size_t datasets) {
  std::vector<WeightPoint> points{{0, options.weights}};
  if (options.weights.empty()) points[0].weights.assign(datasets, 1.0);
  check_weights(points[0].weights, datasets);
  for (const WeightsAt& point : options.schedule) {
    const std::uint64_t draw = point.draw.of("sample_from_datasets", "schedule's draw");
    check_weights(point.weights, datasets);
    if (draw <= points.back().draw) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("sample_from_datasets: in the schedule draw {} follows draw {}; give "
                              "them in ascending order, from 1 on",
                              draw, points.back().draw));
    }
    points.push_back({draw, point.weights});
  }
  return points;
}

}  // namespace

NodePointer make_sample_from_datasets(const SampleOptions& options, const TypeInfo& type,
                                      std::vector<NodePointer> datasets) {
  std::vector<WeightPoint> points = points_of(options, datasets.size());
  std::vector<NodePointer> drawn;
  std::vector<WeightPoint> kept;
  for (const WeightPoint& point : points) kept.push_back({point.draw, {}});
  for (std::size_t i = 0; i < datasets.size(); ++i) {
    const auto has_weight = [i](const WeightPoint& point) { return point.weights[i] > 0; };
    if (std::none_of(points.begin(), points.end(), has_weight)) continue;
    drawn.push_back(std::move(datasets[i]));
    for (std::size_t p = 0; p < points.size(); ++p) {
      kept[p].weights.push_back(points[p].weights[i]);
    }
  }
  const Seeds seeds = given_or_random(options.seed);
  return std::make_shared<SampleNode>(options, seeds, std::move(kept), type, std::move(drawn));
}

}  // namespace infeed::detail
