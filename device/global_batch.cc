#include "infeed/device/global_batch.h"

#include <fmt/format.h>

#include <infeed/error.h>

namespace infeed {

FeatureColumn FeatureColumn::from_row(std::int64_t first) const {
  FeatureColumn view = *this;
  if (float32 != nullptr) view.float32 += first * features_per_example;
  if (bf16 != nullptr) view.bf16 += first * features_per_example;
  return view;
}

std::int64_t examples_of_replica(std::int64_t examples, std::int32_t replicas,
                                 std::int32_t replica) {
  return examples / replicas + (replica < examples % replicas ? 1 : 0);
}

std::vector<ReplicaBatch> split_over_replicas(const GlobalBatch& batch, std::int32_t replicas) {
  if (replicas <= 0 || batch.examples < 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("cannot split {} examples over {} replicas", batch.examples, replicas));
  }
  const bool has_labels = !batch.labels.empty();
  if (has_labels && static_cast<std::int64_t>(batch.labels.size()) != batch.examples) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a batch of {} examples has {} labels; expected one an example",
                            batch.examples, batch.labels.size()));
  }
  std::vector<ReplicaBatch> shares(static_cast<std::size_t>(replicas));
  std::int64_t first = 0;
  std::int64_t first_byte = 0;
  for (std::int32_t r = 0; r < replicas; ++r) {
    const std::int64_t count = examples_of_replica(batch.examples, replicas, r);
    const std::int64_t end_byte =
        batch.examples == 0 ? 0
                            : batch.bytes / batch.examples * (first + count) +
                                  batch.bytes % batch.examples * (first + count) / batch.examples;
    ReplicaBatch& share = shares[static_cast<std::size_t>(r)];
    share.examples = count;
    share.bytes = end_byte - first_byte;
    share.features = batch.features.from_row(first);
    if (has_labels) {
      share.labels =
          batch.labels.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    }
    share.owner = batch.owner;
    first += count;
    first_byte = end_byte;
  }
  return shares;
}

}  // namespace infeed
