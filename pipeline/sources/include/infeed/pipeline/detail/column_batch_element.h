#pragma once

#include <cstddef>
#include <type_traits>

#include <infeed/pipeline/type_info.h>
#include <infeed/records/column_batch.h>

/// What the engine has to know of ColumnBatches, for all stages that give them.
namespace infeed {

/// Owned by whoever has the batch: its columns' memory, which several batches may share.
template <>
struct Payload<ColumnBatch> {
  static std::size_t bytes(const ColumnBatch& batch) { return batch.bytes(); }
};
template <>
struct IsTriviallyRelocatable<ColumnBatch> : std::true_type {};

}  // namespace infeed
