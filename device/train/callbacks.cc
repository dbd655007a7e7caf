#include "infeed/device/callbacks.h"

#include <fmt/format.h>

#include "refuse.h"
#include "train/state_text.h"

namespace infeed {
namespace {

/// Returns the validation's loss, or the training's if there is no validation.
double loss_of(const EpochLogs& logs) { return logs.validation.value_or(logs.training).loss(); }

std::string text_of(const Metrics& metrics) {
  return fmt::format("loss {:.4f}, accuracy {:.4f}", metrics.loss(), metrics.accuracy());
}

}  // namespace

void SaveCheckpoints::on_execution_end(FitControl& fit, const StepLogs& logs) {
  if (logs.is_due(options_.every_steps)) save(fit);
}

void SaveCheckpoints::on_chief_lost(FitControl& fit) {
  const TrainingState state = fit.state();
  // The chief may have saved it before it was lost.
  const auto newest = latest_training_checkpoint(options_.folder);
  if (newest && TrainingCheckpoint::open(*newest).step() >= state.step) return;
  newest_ = save_training_checkpoint(options_.folder, state, options_.save);
}

void SaveCheckpoints::save(FitControl& fit) {
  newest_ = save_training_checkpoint(options_.folder, fit.state(), options_.save);
}

void SaveBest::on_epoch_end(FitControl& fit, const EpochLogs& logs) {
  const double loss = loss_of(logs);
  if (best_ && !(loss < *best_)) return;
  best_ = loss;
  save_training_checkpoint(folder_, fit.state(), save_);
}

std::string SaveBest::state() const { return best_ ? detail::exact_text(*best_) : std::string(); }

void SaveBest::restore(std::string_view text) {
  best_.reset();
  if (!text.empty()) best_ = detail::StateReader(text, name()).real();
}

EarlyStopping::EarlyStopping(EarlyStoppingOptions options) : options_(options) {
  if (options.patience < 0 || !(options.improvement_min >= 0)) {
    detail::refuse(
        "early stopping with a patience of {} epochs and an improvement of {}; both are 0 or more",
        options.patience, options.improvement_min);
  }
}

void EarlyStopping::on_epoch_end(FitControl& fit, const EpochLogs& logs) {
  const double loss = loss_of(logs);
  if (!best_ || loss < *best_ - options_.improvement_min) {
    best_ = loss;
    worse_epochs_ = 0;
    return;
  }
  ++worse_epochs_;
  if (worse_epochs_ <= options_.patience) return;
  fit.stop_training(
      fmt::format("the loss hasn't fallen below {:.4f} for {} epochs", *best_, worse_epochs_));
}

std::string EarlyStopping::state() const {
  return best_ ? fmt::format("{} {}", detail::exact_text(*best_), worse_epochs_) : std::string();
}

void EarlyStopping::restore(std::string_view text) {
  best_.reset();
  worse_epochs_ = 0;
  if (text.empty()) return;
  detail::StateReader reader(text, name());
  best_ = reader.real();
  worse_epochs_ = reader.integer();
}

void EpochRate::on_epoch_end(FitControl& fit, const EpochLogs& logs) {
  epoch_ = logs.epoch + 1;
  fit.set_rate_factor(factor_(epoch_));
}

void EpochRate::restore(std::string_view text) {
  epoch_ = detail::StateReader(text, name()).integer();
}

void Progress::on_execution_end(FitControl&, const StepLogs& logs) {
  if (!logs.is_due(every_steps_)) return;
  print_(fmt::format("epoch {}: {} steps, {}", logs.epoch + 1, logs.step_of_epoch,
                     text_of(logs.training)));
}

void Progress::on_epoch_end(FitControl&, const EpochLogs& logs) {
  std::string line =
      fmt::format("epoch {}: {} steps, {}", logs.epoch + 1, logs.steps, text_of(logs.training));
  if (logs.validation) line += fmt::format("; validation: {}", text_of(*logs.validation));
  print_(line);
}

}  // namespace infeed
