#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <infeed/pipeline/bfloat16.h>

/// Why: the device takes batches from any iterator, in a small form of its own: columns that
/// somebody else owns, and a handle that keeps them alive. Nothing is copied on the way to the
/// replicas.
///
///     struct Sample { std::array<float, 784> image; std::int32_t label; };
///     infeed::BatchSource batches_of(infeed::Iterator<infeed::Batch<Sample>>& iterator) {
///       return {.next = [&iterator](infeed::GlobalBatch& out) {
///         const std::optional<infeed::Batch<Sample>> batch = iterator.next();
///         if (!batch) return false;  // the end
///         out.examples = static_cast<std::int64_t>(batch->size());
///         out.bytes = static_cast<std::int64_t>(batch->bytes());
///         out.features = {batch->column(&Sample::image).data()->data(), 784};
///         out.labels = batch->column(&Sample::label);
///         out.owner = std::make_shared<infeed::Batch<Sample>>(*batch);  // shares its memory
///         return true;
///       }};
///     }
///
/// Thread-safety: values. The views are valid for as long as a copy of `owner` lives.
namespace infeed {

/// Rows of float32 or bfloat16, row-major [examples, features_per_example]; borrowed.
struct FeatureColumn {
  FeatureColumn() = default;
  FeatureColumn(const float* values, std::int64_t per_example)
      : float32(values), features_per_example(per_example) {}
  FeatureColumn(const bfloat16* values, std::int64_t per_example)
      : bf16(values), features_per_example(per_example) {}

  /// The same columns from row `first` on.
  FeatureColumn from_row(std::int64_t first) const;
  bool empty() const { return float32 == nullptr && bf16 == nullptr; }

  const float* float32 = nullptr;  ///< exactly one of the two is set, unless empty
  const bfloat16* bf16 = nullptr;
  std::int64_t features_per_example = 0;
};

/// What one step takes, over all replicas of a host. `features` and `labels` may be left empty in
/// paced mode, which only counts; `bytes` is what has to be carried to the device.
struct GlobalBatch {
  std::int64_t examples = 0;
  std::int64_t bytes = 0;
  FeatureColumn features = {};
  std::span<const std::int32_t> labels = {};
  std::shared_ptr<const void> owner = {};
};

/// One replica's share of a GlobalBatch; the same shape.
using ReplicaBatch = GlobalBatch;

/// Where batches come from. Called by one thread at a time.
struct BatchSource {
  /// Fills `out` and returns true, or returns false at the end. What it throws ends the run.
  std::function<bool(GlobalBatch& out)> next = {};
  /// Optional. Called once when the run is over (by run_paced) or stopped, from any thread: a
  /// next() that is blocked must then return false or throw soon. Without it a run that is stopped
  /// ends when next() does. Must not throw.
  std::function<void()> cancel = {};
};

/// Why a run ended.
enum class RunEnd { end_of_data, steps_max, duration, cancelled };

/// How tf.distribute divides G examples over N replicas: ceil(G/N) for the first G mod N,
/// floor(G/N) for the others; a replica may get none.
std::int64_t examples_of_replica(std::int64_t examples, std::int32_t replicas,
                                 std::int32_t replica);

/// The shares in replica order; they keep the whole alive. Bytes are divided like the examples.
std::vector<ReplicaBatch> split_over_replicas(const GlobalBatch& batch, std::int32_t replicas);

}  // namespace infeed
