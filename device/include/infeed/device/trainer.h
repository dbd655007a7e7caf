#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include <infeed/device/global_batch.h>
#include <infeed/device/metrics.h>
#include <infeed/device/model.h>
#include <infeed/device/optimizer.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>

/// Why: functional mode. A model is trained for real, data-parallel over the replicas of a slice,
/// as tf.distribute.TPUStrategy does it, to prove that a pipeline delivers something one can learn
/// from.
///
///     infeed::Trainer trainer(infeed::classifier_784_128_10(), slice, {.seed = 42});
///     for (int epoch = 0; epoch < 10; ++epoch) {
///       infeed::BatchSource source = training_batches(epoch);  // global batches of 1024
///       infeed::TrainResult r = trainer.train(source, {.stop = stop});
///       fmt::print("loss {:.4f}, accuracy {:.3f}\n", r.metrics.loss(), r.metrics.accuracy());
///     }
///     infeed::BatchSource test_source = test_batches();
///     fmt::print("test accuracy {:.3f}\n", trainer.evaluate(test_source).metrics.accuracy());
///
/// Each replica gets its share of the global batch (split_over_replicas), computes the gradients of
/// (sum of its losses) / (size of the global batch); these are summed by tree_reduce; Adam updates
/// the one copy of the weights (mirrored variables are identical, so one is kept). Metrics are sums
/// and counts.
///
/// The same seed and the same batches give the same weights and losses bit for bit, on any number
/// of threads and any vector width: see design notes in device/README.md. Times come from the cost
/// model, never from the clock: simulated().
///
/// Thread-safety: one thread at a time.
namespace infeed {

struct TrainerOptions {
  std::uint64_t seed = 0;  ///< of the weights
  AdamOptions adam = {};
  /// Operands of products are rounded to bfloat16, sums stay float32, as on an MXU.
  bool mixed_bfloat16 = false;
  std::int32_t threads = 0;  ///< 0: one a CPU of this process, at most one a replica
};

struct TrainLimits {
  std::int64_t steps_max = 0;  ///< 0: until the end of the data; the source can go on afterwards
  std::stop_token stop = {};   ///< ends before the next step, with what was done so far
  /// After each step, with its metrics (from before the update, as Keras reports them).
  std::function<void(std::int64_t step, const Metrics& metrics)> on_step = {};
};

struct TrainResult {
  std::int64_t steps = 0;
  Metrics metrics = {};  ///< over all steps
  RunEnd end = RunEnd::end_of_data;
};

class Trainer {
 public:
  Trainer(ModelSpec spec, const Slice& slice, TrainerOptions options = {});
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  /// One step on one global batch (features and labels are needed). Error invalid_argument when the
  /// batch doesn't fit the model: nothing was changed then.
  Metrics train_step(const GlobalBatch& batch);
  /// Loss and hits, no update.
  Metrics evaluate_step(const GlobalBatch& batch);

  /// Steps until the source, the limits or the stop end it. What the source throws is thrown here;
  /// steps done before stay done.
  TrainResult train(BatchSource& source, const TrainLimits& limits = {});
  TrainResult evaluate(BatchSource& source, const TrainLimits& limits = {});

  const DenseModel& model() const;
  const Adam& optimizer() const;
  /// Steps trained since the model's start, those of a loaded checkpoint included.
  std::int64_t steps() const { return optimizer().steps(); }
  /// Continues from saved state; see model_checkpoint.h.
  void restore(DenseModel model, Adam optimizer);

  /// What the trained steps would have taken on the slice, by the cost model, with input always
  /// ready.
  StepSummary simulated() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace infeed
