#include <fmt/format.h>

#include <infeed/communicator.h>
#include <infeed/device/tape.h>

#include "ranks/step_side.h"
#include "train/ranks/training_ranks.h"

namespace infeed::benchmarks {
namespace {

class InfeedSide final : public StepSide {
 public:
  explicit InfeedSide(const StepSize& size)
      : size_(size),
        variables_(variables_of(size)),
        communicator_(mpi_communicator()),
        ranks_(*communicator_,
               static_cast<std::int32_t>(size.replicas_of_rank) * communicator_->world().size,
               variables_) {}

  int rank() const override { return communicator_->world().rank; }
  int ranks() const override { return communicator_->world().size; }

  void prepare(const OwnGradients& own) override {
    outcomes_.assign(size_.replicas_of_rank * static_cast<std::size_t>(ranks()), {});
    for (std::size_t i = 0; i < own.size(); ++i) {
      detail::ReplicaOutcome& outcome = outcomes_[static_cast<std::size_t>(ranks_.own().first) + i];
      outcome.metrics.examples = 1;
      for (std::size_t v = 0; v < variables_.size(); ++v) {
        const std::span<const float> values(own[i].data() + v * size_.floats_of_variable,
                                            size_.floats_of_variable);
        outcome.gradients.emplace_back(variables_[v],
                                       Tensor::copy_of(variables_[v].shape(), values));
      }
    }
    barrier(*communicator_, "the begin of a measured step");
  }

  void run() override {
    const std::lock_guard working(ranks_.working());
    ranks_.agree({.step = step_});
    sums_ = ranks_.share(outcomes_, step_);
    ++step_;
  }

  std::vector<float> sums() const override {
    std::vector<float> all;
    for (const auto& [variable, gradient] : sums_) {
      const std::span<const float> values = gradient.values<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

 private:
  static std::vector<Variable> variables_of(const StepSize& size) {
    Scope scope;
    std::vector<Variable> variables;
    for (std::size_t v = 0; v < size.variables; ++v) {
      variables.push_back(scope.variable(
          fmt::format("v{}", v), Shape({static_cast<std::int64_t>(size.floats_of_variable)}),
          Initializer::zeros));
    }
    return variables;
  }

  const StepSize size_;
  const std::vector<Variable> variables_;
  const std::unique_ptr<Communicator> communicator_;
  detail::TrainingRanks ranks_;
  std::vector<detail::ReplicaOutcome> outcomes_;
  Gradients sums_;
  std::int64_t step_ = 0;
};

}  // namespace

std::unique_ptr<StepSide> make_infeed_side(const StepSize& size) {
  return std::make_unique<InfeedSide>(size);
}

}  // namespace infeed::benchmarks
