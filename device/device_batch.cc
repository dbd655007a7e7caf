#include "infeed/device/device_batch.h"

#include <utility>

#include "refuse.h"

namespace infeed {

DeviceBatch device_batch(ColumnBatch columns) {
  const std::int64_t examples = columns.rows();
  const auto bytes = static_cast<std::int64_t>(columns.bytes());
  return {.examples = examples, .bytes = bytes, .columns = std::move(columns)};
}

std::int64_t examples_of_replica(std::int64_t examples, std::int32_t replicas,
                                 std::int32_t replica) {
  return examples / replicas + (replica < examples % replicas ? 1 : 0);
}

std::vector<DeviceBatch> split_over_replicas(const DeviceBatch& batch, std::int32_t replicas) {
  if (replicas <= 0 || batch.examples < 0) {
    detail::refuse("cannot split {} examples over {} replicas", batch.examples, replicas);
  }
  const bool has_columns = !batch.columns.columns().empty();
  if (has_columns && batch.columns.rows() != batch.examples) {
    detail::refuse("a batch of {} examples has columns of {} rows; expected one an example",
                   batch.examples, batch.columns.rows());
  }
  std::vector<DeviceBatch> shares(static_cast<std::size_t>(replicas));
  std::int64_t first = 0;
  std::int64_t first_byte = 0;
  for (std::int32_t r = 0; r < replicas; ++r) {
    const std::int64_t count = examples_of_replica(batch.examples, replicas, r);
    const std::int64_t end_byte =
        batch.examples == 0 ? 0
                            : batch.bytes / batch.examples * (first + count) +
                                  batch.bytes % batch.examples * (first + count) / batch.examples;
    DeviceBatch& share = shares[static_cast<std::size_t>(r)];
    share.examples = count;
    share.bytes = end_byte - first_byte;
    if (has_columns) share.columns = batch.columns.slice(first, count);
    first += count;
    first_byte = end_byte;
  }
  return shares;
}

std::vector<ColumnBatch> split_over_replicas(const ColumnBatch& batch, std::int32_t replicas) {
  std::vector<ColumnBatch> shares;
  for (DeviceBatch& share : split_over_replicas(device_batch(batch), replicas)) {
    shares.push_back(std::move(share.columns));
  }
  return shares;
}

}  // namespace infeed
