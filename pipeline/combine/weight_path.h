#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <infeed/pipeline/sample_from_datasets.h>

namespace infeed::detail {

/// The weights from a draw on, of all datasets that are ever drawn.
struct WeightPoint {
  std::uint64_t draw;
  std::vector<double> weights;
};

/// The weights at each draw.
class WeightPath {
 public:
  WeightPath(const std::vector<WeightPoint>& points, WeightChange change)
      : points_(points), change_(change), now_(points.front().weights) {}

  const std::vector<double>& now() const { return now_; }
  bool is_constant() const { return points_.size() == 1; }
  /// Number of points that were passed.
  std::size_t passed() const { return point_; }

  /// Goes on to a later draw. Returns true if the weights may have changed.
  bool go_to(std::uint64_t draw) {
    const std::size_t before = point_;
    while (point_ + 1 < points_.size() && points_[point_ + 1].draw <= draw) ++point_;
    if (point_ != before) now_ = points_[point_].weights;
    if (change_ == WeightChange::at_once || point_ + 1 == points_.size()) return point_ != before;
    const WeightPoint& from = points_[point_];
    const WeightPoint& to = points_[point_ + 1];
    const double share =
        static_cast<double>(draw - from.draw) / static_cast<double>(to.draw - from.draw);
    for (std::size_t i = 0; i < now_.size(); ++i) {
      now_[i] = from.weights[i] + share * (to.weights[i] - from.weights[i]);
    }
    return true;
  }

  /// True if one of these datasets has a weight now or later.
  bool has_weight(const std::vector<bool>& datasets) const {
    for (std::size_t p = point_; p < points_.size(); ++p) {
      if (has_weight_at(p, datasets)) return true;
    }
    return false;
  }

  /// Passes over draws, from `draw` on, where it is, that give none of these datasets. Returns the
  /// draw to go on with. Points may lie so far away that no program lives to draw up to them.
  std::uint64_t pass_over_without_weight(const std::vector<bool>& datasets, std::uint64_t draw) {
    while (point_ + 1 < points_.size() && !has_weight_at(point_, datasets) &&
           (change_ == WeightChange::at_once || !has_weight_at(point_ + 1, datasets))) {
      draw = points_[point_ + 1].draw;
      go_to(draw);
    }
    return draw;
  }

 private:
  bool has_weight_at(std::size_t point, const std::vector<bool>& datasets) const {
    for (std::size_t i = 0; i < datasets.size(); ++i) {
      if (datasets[i] && points_[point].weights[i] > 0) return true;
    }
    return false;
  }

  const std::vector<WeightPoint>& points_;
  const WeightChange change_;
  std::vector<double> now_;
  std::size_t point_ = 0;  ///< the last one that was reached
};

}  // namespace infeed::detail
