#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/device/event_file.h>
#include <infeed/device/metrics.h>
#include <infeed/device/step_accounting.h>
#include <infeed/device/step_graph.h>
#include <infeed/device/tape.h>
#include <infeed/device/variable.h>
#include <infeed/device/variable_state.h>
#include <infeed/pipeline/tuning.h>

/// Why: work beside the steps (saving, curves, stopping early, a progress line) stays out of the
/// loop. Its state comes back with a checkpoint.
///
///     infeed::FitOptions options{.epochs = 10};
///     options.callbacks = {
///         std::make_shared<infeed::SaveCheckpoints>(
///             infeed::SaveCheckpointsOptions{.folder = "run/checkpoints", .every_steps = 500}),
///         std::make_shared<infeed::TensorBoard>("run/logs"),
///         std::make_shared<infeed::EarlyStopping>(infeed::EarlyStoppingOptions{.patience = 2}),
///     };
///
/// fit() calls the callbacks in their order, in its caller's thread. Their exceptions end fit().
namespace infeed {

/// Results of one epoch.
struct EpochLogs {
  std::int64_t epoch = 0;  ///< from 0
  std::int64_t steps = 0;
  Metrics training = {};  ///< measured before each step's update, as Keras reports them
  std::optional<Metrics> validation = std::nullopt;
  double rate = 0;  ///< learning rate of the next step
  friend bool operator==(const EpochLogs&, const EpochLogs&) = default;
};

/// Results of a few steps: those of one execution (FitOptions::steps_per_execution), fewer at the
/// end of an epoch or when the run is cancelled.
struct StepLogs {
  std::int64_t epoch = 0;
  std::int64_t step = 0;           ///< steps of all epochs so far, including these
  std::int64_t step_of_epoch = 0;  ///< steps of this epoch so far, including these
  std::int64_t steps = 0;
  Metrics training = {};  ///< over these steps
  double rate = 0;        ///< learning rate of the next step
  /// True if a multiple of `every` falls into these steps; never with 0.
  bool is_due(std::int64_t every) const {
    return every > 0 && step / every > (step - steps) / every;
  }
};

/// The accounts of this call's steps so far: in this process, and on the slice (without compiling).
struct FitAccounts {
  StepSummary host = {};
  StepSummary slice = {};
};

/// The running fit(), for its callbacks.
class FitControl {
 public:
  virtual ~FitControl() = default;
  virtual FitAccounts accounts() const { return {}; }
  /// All variables of the training, the optimiser's too.
  virtual std::vector<Variable> variables() const { return {}; }
  /// Gradients of the last update as they were applied: added up over the replicas, without the
  /// loss scale, and clipped (not finite, and not clipped, if the update was skipped for that).
  /// Empty before the first update, and when no callback of this worker needs_gradients().
  virtual Gradients gradients() const { return {}; }
  /// The graph that was compiled last; null before the first step. Valid until the next step.
  virtual const StepGraph* graph() const { return nullptr; }
  /// Everything needed to go on from here.
  virtual TrainingState state() = 0;
  /// The state of the tuner of the training's pipeline.
  virtual TuningReport tuning() const = 0;
  /// Ends the training after this execution, or epoch, as if it had been the last.
  virtual void stop_training(std::string reason) = 0;
  /// Multiplies the rate of the optimiser's schedule by `factor`, from the next step on.
  virtual void set_rate_factor(double factor) = 0;
};

enum class RunsOn : std::uint8_t { chief, every_worker };

class Callback {
 public:
  virtual ~Callback() = default;
  Callback() = default;
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  /// Unique name under which the state is saved.
  virtual std::string_view name() const = 0;
  virtual RunsOn runs_on() const { return RunsOn::chief; }
  /// True: fit() keeps an update's gradients until the next one; that takes their memory twice.
  virtual bool needs_gradients() const { return false; }
  /// Called before the first step of this process.
  virtual void on_begin(FitControl&) {}
  virtual void on_execution_end(FitControl&, const StepLogs&) {}
  virtual void on_epoch_end(FitControl&, const EpochLogs&) {}
  /// Called when FitOptions::stop cancels the run, between two steps or before a validation.
  virtual void on_cancelled(FitControl&) {}
  /// Called at rank 1 if the chief is lost, or may be: saves in its place. fit.state() is the chief's.
  virtual void on_chief_lost(FitControl&) {}
  /// Returns text that a resumed fit() passes to restore(), before on_begin().
  virtual std::string state() const { return {}; }
  virtual void restore(std::string_view) {}
};

struct SaveCheckpointsOptions {
  std::string folder = "checkpoints";
  std::int64_t every_steps = 0;  ///< 0: after each epoch only
  SaveOptions save = {};
};

/// Saves checkpoints. Put it last: then it saves the state of the other callbacks as this step
/// leaves it. A cancelled run is saved where it is, so that nothing of an epoch is lost.
class SaveCheckpoints : public Callback {
 public:
  explicit SaveCheckpoints(SaveCheckpointsOptions options) : options_(std::move(options)) {}
  std::string_view name() const override { return "save_checkpoints"; }
  void on_execution_end(FitControl& fit, const StepLogs& logs) override;
  void on_epoch_end(FitControl& fit, const EpochLogs&) override { save(fit); }
  void on_cancelled(FitControl& fit) override { save(fit); }
  void on_chief_lost(FitControl& fit) override;
  /// Folder of the newest checkpoint; empty before the first.
  const std::string& newest() const { return newest_; }

 private:
  void save(FitControl& fit);

  SaveCheckpointsOptions options_;
  std::string newest_;
};

/// Keeps the epoch with the least loss so far, as EarlyStopping sees it, in a separate folder.
class SaveBest : public Callback {
 public:
  explicit SaveBest(std::string folder, SaveOptions save = {.keep = 1})
      : folder_(std::move(folder)), save_(save) {}
  std::string_view name() const override { return "save_best"; }
  void on_epoch_end(FitControl& fit, const EpochLogs& logs) override;
  std::string state() const override;
  void restore(std::string_view text) override;

 private:
  const std::string folder_;
  const SaveOptions save_;
  std::optional<double> best_;
};

struct TensorBoardOptions {
  std::string folder = "logs";
  std::int64_t every_steps = 0;  ///< a point of batch_loss and others after so many steps; 0: none
  /// Histograms of weights and gradients after the first epoch and each so many later; 0: none.
  std::int64_t histograms_every_epochs = 0;
  bool graph = true;  ///< the operations of a step, grouped into the compiled kernels
};

/// Writes event files in Keras's layout, in folders below `folder`:
/// - `train` and `validation`, by epochs: epoch_loss, epoch_accuracy, epoch_learning_rate. `train`
///   also holds the share of its steps spent waiting for input on either clock (host_infeed_wait
///   and slice_infeed_wait), histograms weights/NAME and gradients/NAME, and the graph. Values that
///   aren't finite are in no histogram: not_finite/weights/NAME counts them.
/// - `steps`, by steps: batch_loss, batch_accuracy, batch_learning_rate, of the last execution's
///   steps.
///
/// A resumed training continues the curves of its folder. Its files begin with the step at which it
/// goes on, so TensorBoard drops later epochs and steps of a killed process, and each point is
/// there once. An epoch that ends without a step of the resumed process lacks the shares of
/// waiting; without an update, also the histograms of gradients. A training that begins anew, also
/// a second fit() with this object, replaces the folders that it writes itself: one without a
/// validation leaves the earlier `validation`.
class TensorBoard : public Callback {
 public:
  explicit TensorBoard(std::string folder);
  explicit TensorBoard(TensorBoardOptions options);
  std::string_view name() const override { return "tensor_board"; }
  bool needs_gradients() const override { return options_.histograms_every_epochs > 0; }
  void on_begin(FitControl& fit) override;
  void on_execution_end(FitControl& fit, const StepLogs& logs) override;
  void on_epoch_end(FitControl& fit, const EpochLogs& logs) override;

 private:
  EventFileWriter& training_at(std::int64_t epoch);
  void write_histograms(const FitControl& fit, std::int64_t epoch);

  TensorBoardOptions options_;
  bool has_graph_ = false;
  std::optional<EventFileWriter> training_;
  std::optional<EventFileWriter> validation_;
  std::optional<EventFileWriter> steps_;
};

struct EarlyStoppingOptions {
  std::int64_t patience = 0;   ///< epochs without an improvement before it stops
  double improvement_min = 0;  ///< least decrease of the loss that counts as better
};

/// Watches the loss of the validation, or of the training if there is none.
class EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});
  std::string_view name() const override { return "early_stopping"; }
  void on_epoch_end(FitControl& fit, const EpochLogs& logs) override;
  std::string state() const override;
  void restore(std::string_view text) override;

 private:
  EarlyStoppingOptions options_;
  std::optional<double> best_;
  std::int64_t worse_epochs_ = 0;
};

/// A factor for each epoch, on top of the optimiser's schedule (which has a rate for each step).
class EpochRate : public Callback {
 public:
  explicit EpochRate(std::function<double(std::int64_t epoch)> factor)
      : factor_(std::move(factor)) {}
  std::string_view name() const override { return "epoch_rate"; }
  void on_begin(FitControl& fit) override { fit.set_rate_factor(factor_(epoch_)); }
  void on_epoch_end(FitControl& fit, const EpochLogs& logs) override;
  std::string state() const override { return std::to_string(epoch_); }
  void restore(std::string_view text) override;

 private:
  std::function<double(std::int64_t epoch)> factor_;
  std::int64_t epoch_ = 0;
};

/// Prints a line an epoch, and one each `every_steps`: "epoch 1: 100 steps, loss 0.6931, ...".
class Progress : public Callback {
 public:
  explicit Progress(std::function<void(const std::string& line)> print,
                    std::int64_t every_steps = 0)
      : print_(std::move(print)), every_steps_(every_steps) {}
  std::string_view name() const override { return "progress"; }
  void on_execution_end(FitControl& fit, const StepLogs& logs) override;
  void on_epoch_end(FitControl& fit, const EpochLogs& logs) override;

 private:
  std::function<void(const std::string& line)> print_;
  std::int64_t every_steps_;
};

}  // namespace infeed
