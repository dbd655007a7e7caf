#pragma once

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/options.h>

namespace infeed {

struct FromColumnsOptions {
  /// Leaves out a last batch that has fewer rows than the others.
  bool drop_remainder = false;
  StageName name = {};  ///< as in StageOptions
};

/// Gives the rows of columns that are in memory already (adopted from NumPy or Arrow, read from a
/// file, or made by the program) as batches of `size` rows, in order.
///
///     const infeed::ColumnBatch all({
///         {"x", infeed::Column::dense(infeed::Tensor::copy_of({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}))},
///         {"text", infeed::Column::of_bytes({"one", "two", "three", "four"})},
///     });
///     auto batches = infeed::from_columns(all, 3);   // of 3 rows, and of 1
///
/// Batch k is all.slice(k * size, size): a view, whose values aren't copied. Any batch can be read
/// directly, so a global_shuffle of the batches may follow.
///
/// Skipping costs nothing, and the number of batches is known. Describing the source reads the
/// columns once, since a checkpoint is bound to their content. Errors: invalid_argument for a size
/// below 1.
Dataset<ColumnBatch> from_columns(ColumnBatch columns, Count size, FromColumnsOptions options = {});

}  // namespace infeed
