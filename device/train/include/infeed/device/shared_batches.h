#pragma once

#include <cstdint>
#include <functional>

#include <infeed/pipeline/dataset.h>
#include <infeed/records/column_batch.h>

/// Why: a rank that makes every batch to train on its part of it wastes its cores. Here each makes its
/// own rows only:
///
///     infeed::fit(training, slice,
///                 {.rows = 1024,
///                  .pipeline = [](const infeed::RowShare& own) {
///                    return infeed::indexed_records("train-*.tfrecord")
///                         | infeed::global_shuffle({.seed = 1})
///                         | infeed::repeat() | infeed::own_rows(own)   // share.h
///                         | infeed::parse_columns(column_schema, own.rows) | infeed::prefetch();
///                  }},
///                 {.steps_per_epoch = 100, .worker = {.communicator = ranks.get()}});
///
/// All batches have `rows` rows. The weights are those of one process; so is a checkpoint, with which
/// any number of ranks goes on. FitResult::order_hash is made of the replicas' rows. If a batch has
/// too few rows for all ranks, each rank makes all of them. Each rank makes a validation's batches.
namespace infeed {

struct RowShare;

struct SharedBatches {
  std::int64_t rows = 0;
  std::function<Dataset<ColumnBatch>(const RowShare& own)> pipeline = {};
};

}  // namespace infeed
