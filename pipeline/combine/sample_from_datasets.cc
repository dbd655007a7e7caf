#include "infeed/pipeline/sample_from_datasets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

#include <infeed/pipeline/philox.h>

#include "combine/select_stage.h"
#include "combine/weight_path.h"

namespace infeed::detail {
namespace {

/// Returns the next number from 0 to 1: the next 64 bits.
double next_fraction(Philox& words) {
  const std::uint64_t low = words();
  const std::uint64_t bits = (std::uint64_t{words()} << 32 | low) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

/// Makes draw k from the k-th 64 bits and from the weights at k.
///
/// Datasets that have ended are drawn, too, and another draw replaces them. If that happens
/// kMissesMax times in a row, those that are left have next to no weight. From then on only they are
/// drawn, since a weight of 1e-20 would be waited for practically for ever.
class Draws final : public Selector {
 public:
  Draws(const std::vector<WeightPoint>& points, WeightChange change, std::uint64_t seed,
        std::uint64_t epoch)
      : path_(points, change),
        words_(seed, epoch),
        cumulative_(path_.now().size()),
        is_open_(cumulative_.size(), true) {
    sum_up();
  }

  Next next(std::size_t& index, ErrorPointer&, bool) override {
    double fraction = 0;
    do {
      if (!path_.is_constant()) {
        set_weights();
        if (!may_draw_again()) return Next::end;
      }
      ++draw_;
      fraction = next_fraction(words_);
    } while (cumulative_.back() == 0);  // at an end of a line from or to 0, for a few draws
    const double drawn = fraction * cumulative_.back();
    // The first sum above the drawn number. Rounding may draw the last sum itself.
    const auto begin = cumulative_.begin();
    const auto found = std::partition_point(begin, begin + static_cast<std::ptrdiff_t>(last_),
                                            [drawn](double sum) { return drawn >= sum; });
    index = static_cast<std::size_t>(found - begin);
    count_miss(!is_open_[index]);
    return Next::input;
  }
  std::uint64_t made() const override { return draw_; }
  /// Misses are over where an element is given, so they aren't a part of the state.
  void add_state(std::vector<std::uint64_t>& state) const override {
    if (only_open_) state.push_back(1);
  }
  bool go_behind(std::uint64_t made, std::span<const std::uint64_t> state) override {
    draw_ = made;
    words_.seek(2 * made);
    if (state.empty()) return true;
    if (state.size() != 1 || state.front() != 1) return false;
    only_open_ = true;
    sum_up();
    return true;
  }
  void note_end(std::size_t index) override {
    is_open_[index] = false;
    knows_another_ = false;
    if (only_open_) sum_up();
  }

 private:
  void count_miss(bool is_miss) {
    misses_ = is_miss ? misses_ + 1 : 0;
    if (misses_ < kMissesMax || only_open_) return;
    only_open_ = true;
    sum_up();
  }

  /// Returns true if an open dataset has a weight now or later, and passes over the draws before it
  /// has one. Otherwise the draws would never end. Looks again only when a dataset has ended or a
  /// point was passed.
  bool may_draw_again() {
    if (knows_another_) return true;
    if (!path_.has_weight(is_open_)) return false;
    knows_another_ = true;
    const std::uint64_t draw = path_.pass_over_without_weight(is_open_, draw_);
    if (draw == draw_) return true;
    draw_ = draw;
    words_.seek(2 * draw);
    sum_up();
    return true;
  }

  void set_weights() {
    const std::size_t before = path_.passed();
    if (path_.go_to(draw_)) sum_up();
    if (path_.passed() != before) knows_another_ = false;
  }

  void sum_up() {
    const std::vector<double>& weights = path_.now();
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double weight = only_open_ && !is_open_[i] ? 0 : weights[i];
      if (weight > 0) last_ = i;
      cumulative_[i] = sum += weight;
    }
  }

  /// So many draws take about 20 ms. A dataset with 1e-5 of all weights misses so many by chance
  /// once in 36,000 times, others hardly ever.
  static constexpr std::uint32_t kMissesMax = 1 << 20;

  WeightPath path_;
  Philox words_;
  std::uint64_t draw_ = 0;
  std::vector<double> cumulative_;
  std::size_t last_ = 0;  ///< last dataset with a weight
  std::vector<bool> is_open_;
  bool knows_another_ = false;  ///< an open dataset will be drawn, as may_draw_again() has found
  std::uint32_t misses_ = 0;    ///< draws of ended datasets, one after another
  bool only_open_ = false;      ///< ended datasets are drawn no more
};

/// Draws so that the sizes of the elements follow the weights. Each dataset has a credit: what it
/// should have given of the sizes so far, less what it has given. Those that are ahead by more than
/// one element wait; the others are drawn by their weights.
class SizedDraws final : public Selector {
 public:
  SizedDraws(const std::vector<WeightPoint>& points, WeightChange change, std::uint64_t seed,
             std::uint64_t epoch, const ElementSize& size)
      : path_(points, change),
        words_(seed, epoch),
        size_(size),
        is_open_(path_.now().size(), true),
        credit_(is_open_.size()),
        last_size_(is_open_.size()) {}

  Next next(std::size_t& index, ErrorPointer&, bool) override {
    while (path_.has_weight(is_open_)) {
      path_.go_to(draw_);
      const std::uint64_t draw_with_weight = path_.pass_over_without_weight(is_open_, draw_);
      if (draw_with_weight != draw_) words_.seek(2 * draw_with_weight);
      draw_ = draw_with_weight + 1;
      if (draw(index)) return Next::input;
    }
    return Next::end;
  }
  void note_end(std::size_t index) override {
    is_open_[index] = false;
    // The others owe nothing for it: their shares count from here.
    std::fill(credit_.begin(), credit_.end(), 0.0);
  }
  bool sees_elements() const override { return true; }
  std::uint64_t made() const override { return draw_; }
  void add_state(std::vector<std::uint64_t>& state) const override {
    for (const double number : credit_) state.push_back(std::bit_cast<std::uint64_t>(number));
    for (const double number : last_size_) state.push_back(std::bit_cast<std::uint64_t>(number));
  }
  bool go_behind(std::uint64_t made, std::span<const std::uint64_t> state) override {
    if (state.size() != 2 * credit_.size()) return false;
    draw_ = made;
    words_.seek(2 * made);
    for (std::size_t i = 0; i < credit_.size(); ++i) {
      credit_[i] = std::bit_cast<double>(state[i]);
      last_size_[i] = std::bit_cast<double>(state[credit_.size() + i]);
      if (!std::isfinite(credit_[i]) || !(last_size_[i] >= 0)) return false;
    }
    return true;
  }
  ErrorPointer see(std::size_t index, const void* element) override {
    ErrorPointer error;
    // An error, and an element whose size isn't known, count as much as the one before.
    double size = std::max(1.0, last_size_[index]);
    if (element != nullptr) {
      std::uint64_t found = 0;
      error = size_(element, found);
      if (error == nullptr) size = std::max(1.0, static_cast<double>(found));
    }
    last_size_[index] = size;
    const double sum = open_weight();
    for (std::size_t i = 0; i < credit_.size(); ++i) {
      if (is_open_[i]) credit_[i] += size * path_.now()[i] / sum;
    }
    credit_[index] -= size;
    return error;
  }

 private:
  double open_weight() const {
    double sum = 0;
    for (std::size_t i = 0; i < is_open_.size(); ++i) {
      if (is_open_[i]) sum += path_.now()[i];
    }
    return sum;
  }

  /// Draws one of those that aren't ahead or, if all are, takes the one that is least ahead.
  /// Returns false when no open dataset has a weight now.
  bool draw(std::size_t& index) {
    double sum = 0;
    double most = -std::numeric_limits<double>::infinity();
    const auto may_be_drawn = [this](std::size_t i) {
      return is_open_[i] && path_.now()[i] > 0 && credit_[i] >= -last_size_[i];
    };
    for (std::size_t i = 0; i < is_open_.size(); ++i) {
      if (may_be_drawn(i)) sum += path_.now()[i];
      if (is_open_[i] && path_.now()[i] > 0 && credit_[i] > most) {
        most = credit_[i];
        index = i;
      }
    }
    double left = next_fraction(words_) * sum;
    for (std::size_t i = 0; i < is_open_.size() && left >= 0; ++i) {
      if (!may_be_drawn(i)) continue;
      index = i;
      left -= path_.now()[i];
    }
    return most != -std::numeric_limits<double>::infinity();
  }

  WeightPath path_;
  Philox words_;
  const ElementSize& size_;
  std::uint64_t draw_ = 0;
  std::vector<bool> is_open_;
  std::vector<double> credit_;
  std::vector<double> last_size_;
};

/// The inputs are the datasets that have a weight above 0 at some time: the others are never drawn.
class SampleNode final : public Node {
 public:
  SampleNode(const SampleOptions& options, const Seeds& seeds, std::vector<WeightPoint> points,
             ElementSize size, const TypeInfo& type, std::vector<NodePointer> inputs)
      : Node("sample_from_datasets", type, std::move(inputs)),
        options_(options),
        seeds_(seeds),
        points_(std::move(points)),
        size_(std::move(size)) {}

  std::string signature() const override { return signature_with(seeds_); }
  std::optional<Seeds> seeds() const override { return seeds_; }
  std::string signature_with(const Seeds& seeds) const override {
    return fmt::format("sample_from_datasets(weights={}{}{}, seed={}{}{})",
                       fmt::join(points_.front().weights, " "), schedule_signature(),
                       size_ ? ", by size" : "", seeds.seed,
                       options_.stop_on_empty_dataset ? ", stop_on_empty_dataset" : "",
                       options_.reshuffle_each_iteration ? ", reshuffle" : "");
  }
  /// Sizes are those of the elements, so all of them must be made.
  StageTraits traits() const override {
    return {.begins = size_ ? Begins::at_bookmarks : Begins::anywhere};
  }
  /// Without stop_on_empty_dataset each dataset is read to its end, unless a schedule ends it
  /// before.
  Cardinality cardinality() const override {
    std::uint64_t sum = 0;
    bool infinite = false;
    bool is_any_finite = false;
    for (const NodePointer& node : inputs()) {
      const Cardinality length = node->cardinality();
      if (length.is_unknown()) return Cardinality::unknown();
      const bool is_beyond = __builtin_add_overflow(sum, length.count(), &sum);
      infinite |= length.is_infinite() || is_beyond;
      is_any_finite |= length.is_finite();
    }
    const auto& last = points_.back().weights;
    const bool is_left_out = std::count(last.begin(), last.end(), 0.0) > 0;
    const bool may_end_before = (options_.stop_on_empty_dataset && is_any_finite) || is_left_out;
    if (may_end_before && (sum > 0 || infinite)) return Cardinality::unknown();
    return infinite ? Cardinality::infinite() : Cardinality::finite(sum);
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    const std::uint64_t epoch = options_.reshuffle_each_iteration ? context.epoch + 1 : 0;
    return make_select_stage(context, make_selector(context.seeds.seed, epoch),
                             open_inputs(context, inputs(), inputs().size()),
                             options_.stop_on_empty_dataset);
  }

 private:
  std::unique_ptr<Selector> make_selector(std::uint64_t seed, std::uint64_t epoch) const {
    if (!size_) return std::make_unique<Draws>(points_, options_.change, seed, epoch);
    return std::make_unique<SizedDraws>(points_, options_.change, seed, epoch, size_);
  }
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
  const ElementSize size_;  ///< empty: weights count elements
};

/// Sums of weights, and weights on a line that takes 2^64 draws, can be told from 0 and infinity.
constexpr double kWeightMin = 1e-100;
constexpr double kWeightMax = 1e100;

void check_weights(const std::vector<double>& weights, std::size_t datasets) {
  const auto is_wrong = [](double weight) {
    return weight != 0 && !(weight >= kWeightMin && weight <= kWeightMax);
  };
  const bool none = std::none_of(weights.begin(), weights.end(), [](double w) { return w > 0; });
  if (datasets == 0) {
    throw Error(ErrorCode::invalid_argument,
                "sample_from_datasets: there are no datasets; give at least one");
  }
  if (weights.size() != datasets || none || std::any_of(weights.begin(), weights.end(), is_wrong)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("sample_from_datasets: weights are [{}] for {} datasets; give one each, "
                    "0 or from {} to {}, not all of them 0",
                    fmt::join(weights, ", "), datasets, kWeightMin, kWeightMax));
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

NodePointer make_sample_from_datasets(const SampleOptions& options, ElementSize size,
                                      const TypeInfo& type, std::vector<NodePointer> datasets) {
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
  return std::make_shared<SampleNode>(options, seeds, std::move(kept), std::move(size), type,
                                      std::move(drawn));
}

}  // namespace infeed::detail
