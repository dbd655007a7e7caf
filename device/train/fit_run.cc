#include "train/fit_run.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <infeed/communicator.h>
#include <infeed/error.h>
#include <infeed/pipeline/detail/order_hash.h>

#include "refuse.h"
#include "train/fit_checks.h"
#include "train/fit_progress.h"
#include "train/fit_state.h"
#include "train/ranks/run_as_rank.h"
#include "train/signature_checks.h"
#include "train/simulated_steps.h"
#include "train/wall_account.h"

namespace infeed::detail {
namespace {

std::uint64_t with_word(std::uint64_t hash, std::uint64_t word) {
  OrderHash added(hash);
  added.add(word);
  return added.value();
}

class FitRun : public FitControl {
 public:
  FitRun(const Training& training, FitTarget target, const FitOptions& options)
      : training_(training),
        target_(std::move(target)),
        options_(options),
        configuration_(configuration_of(target_.slice, options)),
        replicas_(target_.replicas),
        ranks_(replicas_.ranks()),
        simulated_(
            target_.slice,
            {.precision = options.precision,
             .step = {.optimizer = training.optimizer->step_optimizer(),
                      .steps_per_execution = clamped(options.steps_per_execution),
                      .batches_per_update = clamped(options.batches_per_update),
                      .synchronised = target_.replicas.synchronised,
                      .devices_of_replica = std::max(target_.replicas.tape.devices, 1)},
             .queue_depth = target_.feed.feed == InfeedFeed::ahead ? target_.feed.queue_depth : 0,
             .workload = options.workload}),
        keeps_gradients_(std::ranges::any_of(options.callbacks, [&](const auto& callback) {
          return is_called(*callback, options.worker) && callback->needs_gradients();
        })) {}

  FitResult run() {
    if (!options_.resume_from.empty()) {
      if (const auto found = latest_training_checkpoint(options_.resume_from)) restore(*found);
    }
    resumed_at_ = progress_.step;
    if (ranks_ != nullptr) compare_ranks();
    RunEnd end = RunEnd::end_of_data;
    for_callbacks([&](Callback& callback) { callback.on_begin(*this); });
    while (progress_.epoch < options_.epochs && progress_.stop_reason.empty()) {
      if (!run_epoch()) {
        end = RunEnd::cancelled;
        for_callbacks([&](Callback& callback) { callback.on_cancelled(*this); });
        break;
      }
    }
    if (progress_.epoch < options_.epochs && end != RunEnd::cancelled) tell_end();
    return {.epochs = progress_.epochs,
            .steps = progress_.step,
            .resumed_at = resumed_at_,
            .order_hash = order_hash(),
            .end = end,
            .stop_reason = progress_.stop_reason,
            .tuning = tuning(),
            .wall = wall_.summary(),
            .simulated = simulated_.summary(),
            .compilations = simulated_.compilations(),
            .slice = target_.slice.name(),
            .model_flop_utilisation =
                simulated_.model_flop_utilisation(simulated_.steady().examples_per_s)};
  }

  /// Lets callbacks save the last whole step; does nothing if this run has made none. A deputy saves
  /// only what it knows.
  void save_cancelled() {
    if (progress_.step == resumed_at_) return;
    if (ranks_->is_chief()) {
      for_callbacks([&](Callback& callback) { callback.on_cancelled(*this); });
    } else if (ranks_->callbacks_of_chief() != nullptr) {
      for (const auto& callback : options_.callbacks) callback->on_chief_lost(*this);
    }
  }

  TrainingState state() override {
    const auto* const of_chief = ranks_ == nullptr ? nullptr : ranks_->callbacks_of_chief();
    const std::vector<NamedBytes> callbacks = of_chief ? *of_chief : states_of(options_.callbacks);
    return training_state({.scope = training_.scope,
                           .progress = progress_,
                           .group = group_,
                           .places = place_ ? std::span<const Checkpoint>(place_->checkpoints)
                                            : std::span<const Checkpoint>(),
                           .configuration = configuration_,
                           .callbacks = callbacks});
  }

  FitAccounts accounts() const override { return {wall_.summary(), simulated_.steady()}; }

  std::vector<Variable> variables() const override { return training_.scope.variables(); }

  Gradients gradients() const override { return last_update_; }

  const StepGraph* graph() const override { return simulated_.graph(); }

  TuningReport tuning() const override { return feed_ ? feed_->tuning() : tuning_; }

  void stop_training(std::string reason) override {
    progress_.stop_reason = reason.empty() ? "a callback stopped it" : std::move(reason);
  }

  void set_rate_factor(double factor) override {
    if (!(factor >= 0) || factor > 1e30) {
      refuse("a factor of {} for the learning rate; take a number from 0 on", factor);
    }
    progress_.rate_factor = factor;
  }

 private:
  template <class F>
  void for_callbacks(const F& call) {
    for (const std::shared_ptr<Callback>& callback : options_.callbacks) {
      if (is_called(*callback, options_.worker)) call(*callback);
    }
  }

  void restore(const std::string& folder) {
    const TrainingCheckpoint saved = TrainingCheckpoint::open(folder);
    progress_ = restore_progress(saved, configuration_, folder);
    group_ = restore_tensors(saved, training_.scope, folder);
    std::vector<Checkpoint> places = restore_places(saved);
    if (!places.empty()) begin_iteration(std::move(places));
    restore_callbacks(saved, options_.callbacks);
  }

  void begin_iteration(std::vector<Checkpoint> resume) {
    IterateOptions iterate = options_.iterate;
    // With one iteration an epoch, each has its own order; a single iteration has the first.
    iterate.epoch = options_.steps_per_epoch > 0 ? 0 : static_cast<std::uint64_t>(progress_.epoch);
    if (!resume.empty()) iterate.epoch = resume.front().epoch;
    if (options_.stop.stop_possible()) iterate.stop = options_.stop;
    feed_.emplace(target_.feeds(iterate, std::move(resume)), target_.feed);
    place_ = feed_->place();
    wall_.pause();
  }

  /// Returns false at the end of the epoch's data.
  bool next_shares() {
    if (options_.steps_per_epoch > 0 && progress_.step_of_epoch == options_.steps_per_epoch) {
      return false;
    }
    if (feed_->next(shares_)) {
      begin_ns_ = monotonic_ns();
      replicas_.check_shares(shares_, progress_.step);
      check_inputs(training_.inputs, shares_, progress_.step);
      return true;
    }
    check_end_of_data(progress_, options_.steps_per_epoch);
    return false;
  }

  /// Returns false if it was cancelled.
  bool run_epoch() {
    if (!feed_) begin_iteration({});
    StepStart start = StepStart::step;
    while (start == StepStart::step && progress_.stop_reason.empty()) {
      StepLogs execution{.epoch = progress_.epoch};
      start = run_steps(execution);
      if (execution.steps == 0) break;
      execution.step = progress_.step;
      execution.step_of_epoch = progress_.step_of_epoch;
      execution.rate = rate();
      for_callbacks([&](Callback& callback) { callback.on_execution_end(*this, execution); });
    }
    if (start == StepStart::stopped) return false;
    if (start == StepStart::step) tell_end();
    if (progress_.step_of_epoch == 0) {  // the chief ended it, and has no place in this epoch
      if (options_.steps_per_epoch == 0) place_.reset();
      return true;
    }
    agree(StepStart::end_of_data);  // callbacks may have set the rate
    update();                       // the last group may be short
    return end_epoch();
  }

  /// Runs the steps of an execution, until one doesn't begin.
  StepStart run_steps(StepLogs& execution) {
    while (execution.steps < options_.steps_per_execution) {
      const StepStart start =
          agree(start_unless_stopped(options_.stop, [this] { return next_shares(); }));
      if (start != StepStart::step) return start;
      execution.training += run_step();
      ++execution.steps;
    }
    return StepStart::step;
  }

  /// Returns what all ranks do, with the chief's rate and reason to stop.
  StepStart agree(StepStart start) {
    if (ranks_ == nullptr) return start;
    const std::int64_t begin_ns = monotonic_ns();
    const bool has_order = start == StepStart::step && options_.iterate.order_hash;
    StepIntent agreed =
        ranks_->agree({.start = start,
                       .step = progress_.step,
                       .order_hash = has_order ? feed_->place()->order_hash : 0,
                       .rate_factor = progress_.rate_factor,
                       .stop_reason = start == StepStart::ended ? progress_.stop_reason : "",
                       .callbacks = ranks_->is_chief() ? states_of(options_.callbacks)
                                                       : std::vector<NamedBytes>()});
    progress_.rate_factor = agreed.rate_factor;
    if (agreed.start == StepStart::ended) progress_.stop_reason = std::move(agreed.stop_reason);
    agree_ns_ = monotonic_ns() - begin_ns;
    return agreed.start;
  }

  /// Tells the other ranks, once, that a callback of the chief ended the training.
  void tell_end() {
    if (ranks_ == nullptr || !ranks_->is_chief() || std::exchange(is_end_told_, true)) return;
    agree(StepStart::ended);
  }

  /// Throws failed_precondition if ranks would train on other data, or from another state.
  void compare_ranks() {
    is_end_told_ = !progress_.stop_reason.empty();
    ranks_->require_equal("options of fit()",
                          fmt::format("{}epochs {}\nsteps_per_execution {}\n", configuration_,
                                      options_.epochs, options_.steps_per_execution));
    ranks_->require_equal("step to go on from", std::to_string(progress_.step));
    ranks_->require_equal("variables", summary_of(training_.scope.variables()));
    if (progress_.epoch == options_.epochs || is_end_told_) return;
    if (!feed_) begin_iteration({});
    std::string places;
    for (Checkpoint place : place_->checkpoints) {
      place.bookmarks.clear();  // those before a rank's own rows: each rank has others
      places += place.to_text();
    }
    ranks_->require_equal("data and pipeline", places);
  }

  bool end_epoch() {
    EpochLogs logs{.epoch = progress_.epoch,
                   .steps = progress_.step_of_epoch,
                   .training = progress_.training,
                   .validation = std::nullopt,
                   .rate = rate()};
    if (options_.validation.is_described()) {
      logs.validation = evaluate_all(replicas_, training_.forward, options_.validation, options_,
                                     with_any_rows(training_.inputs));
      if (!logs.validation) return false;
    }
    if (options_.steps_per_epoch == 0) {
      progress_.order_hash = order_hash();
      tuning_ = feed_->tuning();
      feed_.reset();
      place_.reset();
    }
    wall_.pause();
    progress_.epochs.push_back(logs);
    ++progress_.epoch;
    progress_.step_of_epoch = 0;
    progress_.training = {};
    if (ranks_ != nullptr) ranks_->forget_callbacks_of_chief();  // they may do something now
    for_callbacks([&](Callback& callback) { callback.on_epoch_end(*this, logs); });
    return true;
  }

  Metrics run_step() {
    const std::int64_t rows = rows_of(shares_);
    if (progress_.group_batches == 0) {
      // All losses of a group are divided by one number, which is right for batches of equal size.
      // update() corrects the gradients of other groups.
      progress_.group_divisor = rows * options_.batches_per_update;
    }
    ReplicaSteps::Outcome outcome = simulated_.train(replicas_, training_.forward, shares_,
                                                     {.number = progress_.step,
                                                      .divisor = progress_.group_divisor,
                                                      .loss_scale = training_.loss_scale,
                                                      .hashes_rows = target_.hashes_rows},
                                                     feed_->place()->service_ns);
    add_gradients(group_, std::move(outcome.gradients));
    assign_all(outcome.updates);
    ++progress_.step;
    ++progress_.step_of_epoch;
    ++progress_.group_batches;
    progress_.group_examples += rows;
    progress_.training += outcome.metrics;
    if (target_.hashes_rows) {
      progress_.order_hash = with_word(progress_.order_hash, outcome.rows_hash);
    }
    if (progress_.group_batches == options_.batches_per_update) update();
    place_ = feed_->place();
    feed_->record_step(wall_.add({.wait_ns = feed_->wait_ns(),
                                  .begin_ns = begin_ns_,
                                  .reduce_ns = agree_ns_ + outcome.reduce_ns,
                                  .examples = rows}));
    if (options_.on_step) options_.on_step(progress_.step, outcome.metrics);
    return outcome.metrics;
  }

  /// Applies the gradients of the batches since the last update.
  void update() {
    if (progress_.group_batches == 0) return;
    // Sorted, since a C++ compiler chooses the order in which a tape meets them, and the sum of
    // squares depends on it.
    std::ranges::sort(group_, {}, [](const Gradients::value_type& g) { return g.first.name(); });
    if (progress_.group_examples != progress_.group_divisor) {
      const float factor = static_cast<float>(static_cast<double>(progress_.group_divisor) /
                                              static_cast<double>(progress_.group_examples));
      scale_gradients(group_, factor);
    }
    const bool is_finite = nn::all_finite(group_);
    if (training_.loss_scale == nullptr && !is_finite) refuse_gradients(group_, progress_.step);
    if (training_.loss_scale == nullptr || training_.loss_scale->update(is_finite)) {
      if (options_.clip_norm > 0) nn::clip_by_global_norm(group_, options_.clip_norm);
      training_.optimizer->apply(group_, progress_.rate_factor);
    }
    if (keeps_gradients_) last_update_ = std::move(group_);
    group_.clear();
    progress_.group_batches = 0;
    progress_.group_examples = 0;
  }

  double rate() const { return training_.optimizer->rate() * progress_.rate_factor; }

  std::uint64_t order_hash() const {
    if (!place_ || !options_.iterate.order_hash) return progress_.order_hash;
    return with_word(progress_.order_hash, place_->order_hash);
  }

  const Training& training_;
  const FitTarget target_;
  const FitOptions& options_;
  const std::string configuration_;
  ReplicaSteps replicas_;
  TrainingRanks* const ranks_;  ///< null: no other ranks
  SimulatedSteps simulated_;
  FitProgress progress_;
  WallAccount wall_;
  Gradients group_;
  const bool keeps_gradients_;
  Gradients last_update_;  ///< gradients as applied, if a callback needs them
  std::optional<TrainingFeed> feed_;
  std::shared_ptr<const StepPlace> place_;  ///< behind the last whole step; null between iterations
  std::vector<ColumnBatch> shares_;         ///< shares of the current step
  std::int64_t begin_ns_ = 0;               ///< when the shares were there
  std::int64_t agree_ns_ = 0;               ///< time of agreeing with the other ranks
  std::int64_t resumed_at_ = 0;
  bool is_end_told_ = false;
  TuningReport tuning_;
};

}  // namespace

FitResult run_fit(const Training& training, FitTarget target, const FitOptions& options) {
  if (options.worker.communicator == nullptr || options.worker.communicator->world().size == 1) {
    return FitRun(training, std::move(target), options).run();
  }
  FitOptions of_rank = options;
  of_rank.worker.index = options.worker.communicator->world().rank;
  const std::shared_ptr<TrainingRanks> ranks =
      join_ranks(*options.worker.communicator, target.replicas, training.scope);
  target.replicas.ranks = ranks;
  std::optional<FitRun> run;
  return run_as_rank(*ranks, options.stop,
                     {.run =
                          [&] {
                            run.emplace(training, std::move(target), of_rank);
                            return run->run();
                          },
                      .save =
                          [&] {
                            if (run) run->save_cancelled();
                          }});
}

}  // namespace infeed::detail
