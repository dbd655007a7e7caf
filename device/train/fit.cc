#include "infeed/device/fit.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <utility>

#include <infeed/error.h>
#include <infeed/pipeline/detail/order_hash.h>

#include "train/fit_checks.h"
#include "train/fit_progress.h"
#include "train/replica_steps.h"
#include "train/simulated_steps.h"

namespace infeed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kProgressText = "fit";
constexpr std::string_view kConfigurationText = "configuration";
constexpr std::string_view kPipelineText = "pipeline";
/// Gradients that wait for their update are saved below this name.
constexpr std::string_view kGroupPrefix = "accumulated/";
constexpr std::string_view kCallbackPrefix = "callback.";

class FitRun : public FitControl {
 public:
  FitRun(const Training& training, const Slice& slice, const Dataset<ColumnBatch>& batches,
         const FitOptions& options)
      : training_(training),
        batches_(batches),
        options_(options),
        replicas_(detail::replica_options(slice, options, &training.scope)),
        configuration_(detail::configuration_of(slice, options)),
        simulated_(slice, {.precision = options.precision,
                           .steps_per_execution = options.steps_per_execution,
                           .workload = options.workload}) {
    detail::check_fit(training, options);
  }

  FitResult run() {
    FitResult result;
    if (!options_.resume_from.empty()) {
      if (const auto found = latest_training_checkpoint(options_.resume_from)) restore(*found);
    }
    result.resumed_at = progress_.step;
    for_callbacks([&](Callback& callback) { callback.on_begin(*this); });
    while (progress_.epoch < options_.epochs && progress_.stop_reason.empty()) {
      if (!run_epoch()) {
        result.end = RunEnd::cancelled;
        break;
      }
    }
    result.epochs = progress_.epochs;
    result.steps = progress_.step;
    result.order_hash = order_hash();
    result.stop_reason = progress_.stop_reason;
    result.tuning = tuning();
    result.simulated = simulated_.summary();
    result.compilations = simulated_.compilations();
    return result;
  }

  TrainingState state() override {
    TrainingState state =
        state_of(static_cast<std::uint64_t>(progress_.step), training_.scope.variables());
    for (const auto& [variable, gradient] : group_) {
      state.tensors.push_back({std::string(kGroupPrefix) + variable.name(), gradient});
    }
    if (iterator_.has_stream()) {
      state.texts.push_back({std::string(kPipelineText), iterator_.checkpoint().to_text()});
    }
    state.texts.push_back({std::string(kProgressText), progress_.to_text()});
    state.texts.push_back({std::string(kConfigurationText), configuration_});
    for (const std::shared_ptr<Callback>& callback : options_.callbacks) {
      state.texts.push_back(
          {std::string(kCallbackPrefix) + std::string(callback->name()), callback->state()});
    }
    return state;
  }

  TuningReport tuning() const override {
    return iterator_.has_stream() ? iterator_.tuning() : tuning_;
  }

  void stop_training(std::string reason) override {
    progress_.stop_reason = reason.empty() ? "a callback stopped it" : std::move(reason);
  }

  void set_rate_factor(double factor) override {
    if (!(factor >= 0) || factor > 1e30) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format("a factor of {} for the learning rate; take a number from 0 on", factor));
    }
    progress_.rate_factor = factor;
  }

 private:
  template <class F>
  void for_callbacks(const F& call) {
    for (const std::shared_ptr<Callback>& callback : options_.callbacks) {
      if (options_.worker.is_chief() || callback->runs_on() == RunsOn::every_worker) {
        call(*callback);
      }
    }
  }

  void restore(const std::string& folder) {
    const TrainingCheckpoint saved = TrainingCheckpoint::open(folder);
    detail::check_configuration(saved.text(kConfigurationText), configuration_, folder);
    progress_ = detail::FitProgress::from_text(saved.text(kProgressText));
    const std::string_view except[] = {kGroupPrefix};
    saved.restore(training_.scope.variables(), except);
    group_.clear();
    for (const TrainingCheckpoint::TensorPlace& place : saved.tensors()) {
      if (!place.name.starts_with(kGroupPrefix)) continue;
      const std::string_view name = std::string_view(place.name).substr(kGroupPrefix.size());
      group_.emplace_back(detail::variable_named(name, training_.scope, folder), saved.read(place));
    }
    if (const std::string* const text = saved.find_text(kPipelineText)) {
      begin_iteration(Checkpoint::from_text(*text));
    }
    for (const std::shared_ptr<Callback>& callback : options_.callbacks) {
      const std::string* const text =
          saved.find_text(std::string(kCallbackPrefix) + std::string(callback->name()));
      if (text != nullptr) callback->restore(*text);
    }
  }

  void begin_iteration(std::optional<Checkpoint> resume) {
    IterateOptions iterate = options_.iterate;
    // An iteration an epoch draws its own order; one for all is the first.
    iterate.epoch = options_.steps_per_epoch > 0 ? 0 : static_cast<std::uint64_t>(progress_.epoch);
    if (resume) iterate.epoch = resume->epoch;
    if (options_.stop.stop_possible()) iterate.stop = options_.stop;
    iterate.resume = std::move(resume);
    iterator_ = batches_.iterate(std::move(iterate));
    iterator_.core_for_timer().expect_steps();
    last_end_.reset();
  }

  /// Nothing at the end of the epoch's data.
  std::optional<ColumnBatch> next_batch() {
    if (options_.steps_per_epoch > 0 && progress_.step_of_epoch == options_.steps_per_epoch) {
      return std::nullopt;
    }
    const Clock::time_point begin = Clock::now();
    std::optional<ColumnBatch> batch = iterator_.next();
    wait_ = Clock::now() - begin;
    if (!batch && options_.steps_per_epoch > 0) {
      throw Error(
          ErrorCode::failed_precondition,
          fmt::format("the data ended after {} of the {} steps of epoch {}; put repeat() "
                      "into the dataset, or leave steps_per_epoch at 0 for one iteration "
                      "an epoch",
                      progress_.step_of_epoch, options_.steps_per_epoch, progress_.epoch + 1));
    }
    if (!batch && progress_.step_of_epoch == 0) {
      throw Error(ErrorCode::failed_precondition,
                  fmt::format("the dataset gave no batch in epoch {}; fewer rows than a batch with "
                              "drop_remainder give none",
                              progress_.epoch + 1));
    }
    return batch;
  }

  /// False when it was cancelled.
  bool run_epoch() {
    if (!iterator_.has_stream()) begin_iteration(std::nullopt);
    bool is_over = false;
    while (!is_over && progress_.stop_reason.empty()) {
      StepLogs execution{.epoch = progress_.epoch};
      try {
        while (execution.steps < options_.steps_per_execution) {
          if (options_.stop.stop_requested()) return false;
          const std::optional<ColumnBatch> batch = next_batch();
          is_over = !batch;
          if (is_over) break;
          execution.training += run_step(*batch);
          ++execution.steps;
        }
      } catch (const Error& error) {
        if (error.code() == ErrorCode::cancelled && options_.stop.stop_requested()) return false;
        throw;
      }
      if (execution.steps == 0) break;
      execution.step = progress_.step;
      execution.step_of_epoch = progress_.step_of_epoch;
      execution.rate = rate();
      for_callbacks([&](Callback& callback) { callback.on_execution_end(*this, execution); });
    }
    update();  // a last group may be short
    return end_epoch();
  }

  bool end_epoch() {
    EpochLogs logs{.epoch = progress_.epoch,
                   .steps = progress_.step_of_epoch,
                   .training = progress_.training,
                   .validation = std::nullopt,
                   .rate = rate()};
    if (options_.validation.is_described()) {
      Metrics validation;
      if (!detail::evaluate_all(replicas_, training_.forward, options_.validation, options_,
                                validation)) {
        return false;
      }
      logs.validation = validation;
    }
    if (options_.steps_per_epoch == 0) {
      progress_.order_hash = order_hash();
      tuning_ = iterator_.tuning();
      iterator_ = {};
    }
    progress_.epochs.push_back(logs);
    ++progress_.epoch;
    progress_.step_of_epoch = 0;
    progress_.training = {};
    for_callbacks([&](Callback& callback) { callback.on_epoch_end(*this, logs); });
    return true;
  }

  Metrics run_step(const ColumnBatch& batch) {
    const Clock::time_point begin = Clock::now();
    if (progress_.group_batches == 0) {
      // All of a group are divided by one number, which is right for groups of equal batches; what
      // is uneven is mended when the group is complete.
      progress_.group_divisor = batch.rows() * options_.batches_per_update;
    }
    const std::vector<ColumnBatch> shares = replicas_.shares_of(batch, progress_.step);
    detail::ReplicaSteps::Outcome outcome =
        replicas_.train(training_.forward, shares,
                        {.number = progress_.step,
                         .divisor = std::max<std::int64_t>(progress_.group_divisor, 1),
                         .loss_scale = training_.loss_scale,
                         .trace = simulated_.trace_for(shares)});
    const Clock::time_point computed = Clock::now();
    detail::add_gradients(group_, std::move(outcome.gradients));
    for (auto& [variable, value] : outcome.updates) {
      Variable changed = variable;
      changed.assign(value);
    }
    ++progress_.step;
    ++progress_.step_of_epoch;
    ++progress_.group_batches;
    progress_.group_examples += batch.rows();
    progress_.training += outcome.metrics;
    if (progress_.group_batches == options_.batches_per_update) update();
    simulated_.add(shares, progress_.step - 1);
    record(begin, computed);
    if (options_.on_step) options_.on_step(progress_.step, outcome.metrics);
    return outcome.metrics;
  }

  /// What the batches since the last update ask for.
  void update() {
    if (progress_.group_batches == 0) return;
    // In the order in which a tape met them, a compiler's choice, their squares would add up to others.
    std::ranges::sort(group_, {}, [](const Gradients::value_type& g) { return g.first.name(); });
    if (progress_.group_examples != progress_.group_divisor) {
      const float factor = static_cast<float>(static_cast<double>(progress_.group_divisor) /
                                              static_cast<double>(progress_.group_examples));
      detail::scale_gradients(group_, factor);
    }
    const bool is_finite = nn::all_finite(group_);
    if (training_.loss_scale == nullptr && !is_finite) {
      detail::refuse_gradients(group_, progress_.step);
    }
    if (training_.loss_scale == nullptr || training_.loss_scale->update(is_finite)) {
      if (options_.clip_norm > 0) nn::clip_by_global_norm(group_, options_.clip_norm);
      training_.optimizer->apply(group_, progress_.rate_factor);
    }
    group_.clear();
    progress_.group_batches = 0;
    progress_.group_examples = 0;
  }

  /// For `infeed profile`: what the step's parts took here.
  void record(Clock::time_point begin, Clock::time_point computed) {
    const Clock::time_point end = Clock::now();
    iterator_.record_step({.begin = last_end_.value_or(begin - wait_),
                           .infeed_wait = wait_,
                           .transfer = {},
                           .compute = computed - begin,
                           .all_reduce = end - computed,
                           .idle = begin - wait_ - last_end_.value_or(begin - wait_),
                           .elements = 1,
                           .name = {}});
    last_end_ = end;
  }

  double rate() const { return training_.optimizer->rate() * progress_.rate_factor; }

  std::uint64_t order_hash() const {
    if (!iterator_.has_stream() || !options_.iterate.order_hash) return progress_.order_hash;
    OrderHash hash(progress_.order_hash);
    hash.add(iterator_.order_hash());
    return hash.value();
  }

  const Training& training_;
  const Dataset<ColumnBatch>& batches_;
  const FitOptions& options_;
  detail::ReplicaSteps replicas_;
  const std::string configuration_;
  detail::SimulatedSteps simulated_;
  detail::FitProgress progress_;
  Gradients group_;
  Iterator<ColumnBatch> iterator_;
  TuningReport tuning_;
  std::chrono::nanoseconds wait_{0};
  std::optional<Clock::time_point> last_end_;
};

}  // namespace

FitResult fit(const Training& training, const Slice& slice, const Dataset<ColumnBatch>& batches,
              const FitOptions& options) {
  return FitRun(training, slice, batches, options).run();
}

Metrics evaluate(const ReplicaFunction& forward, const Slice& slice,
                 const Dataset<ColumnBatch>& batches, const FitOptions& options) {
  detail::ReplicaSteps replicas(detail::replica_options(slice, options));
  Metrics sum;
  if (!detail::evaluate_all(replicas, forward, batches, options, sum)) {
    throw Error(ErrorCode::cancelled, "stopped");
  }
  return sum;
}

}  // namespace infeed
