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

class Draws final : public Selector {
 public:
  Draws(const std::vector<double>& cumulative, std::uint64_t seed, std::uint64_t epoch)
      : cumulative_(cumulative), words_(seed, epoch) {}

  Next next(std::size_t& index, ErrorPointer&, bool) override {
    const std::uint64_t low = words_();
    const std::uint64_t bits = (std::uint64_t{words_()} << 32 | low) >> 11;
    const double drawn = static_cast<double>(bits) * 0x1p-53 * cumulative_.back();
    index = 0;
    while (drawn >= cumulative_[index] && index + 1 < cumulative_.size()) ++index;
    return Next::input;
  }

 private:
  const std::vector<double>& cumulative_;
  Philox words_;
};

/// Its inputs are the datasets with a weight above 0: the others are never drawn.
class SampleNode final : public Node {
 public:
  SampleNode(const SampleOptions& options, const Seeds& seeds, std::vector<double> weights,
             const TypeInfo& type, std::vector<NodePointer> inputs)
      : Node("sample_from_datasets", type, std::move(inputs)),
        options_(options),
        seeds_(seeds),
        cumulative_(weights),
        weights_(std::move(weights)) {
    for (std::size_t i = 1; i < cumulative_.size(); ++i) cumulative_[i] += cumulative_[i - 1];
  }

  std::string signature() const override { return signature_with(seeds_); }
  std::optional<Seeds> seeds() const override { return seeds_; }
  std::string signature_with(const Seeds& seeds) const override {
    return fmt::format("sample_from_datasets(weights={}, seed={}{}{})", fmt::join(weights_, " "),
                       seeds.seed, options_.stop_on_empty_dataset ? ", stop_on_empty_dataset" : "",
                       options_.reshuffle_each_iteration ? ", reshuffle" : "");
  }
  /// Without stop_on_empty_dataset each dataset is read to its end.
  Cardinality cardinality() const override {
    std::uint64_t sum = 0;
    bool infinite = false;
    for (const NodePointer& node : inputs()) {
      const Cardinality length = node->cardinality();
      if (length.is_unknown()) return Cardinality::unknown();
      infinite |= length.is_infinite();
      sum += length.count();
    }
    if (options_.stop_on_empty_dataset && sum > 0) return Cardinality::unknown();
    return infinite ? Cardinality::infinite() : Cardinality::finite(sum);
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    const std::uint64_t epoch = options_.reshuffle_each_iteration ? context.epoch + 1 : 0;
    return make_select_stage(
        context, std::make_unique<Draws>(cumulative_, context.seeds.seed, epoch),
        open_inputs(context, inputs(), inputs().size()), options_.stop_on_empty_dataset);
  }

 private:
  const SampleOptions options_;
  const Seeds seeds_;
  std::vector<double> cumulative_;
  const std::vector<double> weights_;
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

}  // namespace

NodePointer make_sample_from_datasets(const SampleOptions& options, const TypeInfo& type,
                                      std::vector<NodePointer> datasets) {
  std::vector<double> weights = options.weights;
  if (weights.empty()) weights.assign(datasets.size(), 1.0);
  check_weights(weights, datasets.size());
  std::vector<NodePointer> drawn;
  for (std::size_t i = 0; i < datasets.size(); ++i) {
    if (weights[i] > 0) drawn.push_back(std::move(datasets[i]));
  }
  std::erase(weights, 0.0);
  const Seeds seeds = given_or_random(options.seed);
  return std::make_shared<SampleNode>(options, seeds, std::move(weights), type, std::move(drawn));
}

}  // namespace infeed::detail
