#pragma once

#include <vector>

#include <infeed/pipeline/from_columns.h>

namespace infeed::detail {

/// Does as from_columns() with a table whose rows lie in several batches behind each other, as Arrow has
/// them. There is at least one, and their columns are alike, as join_rows() says. A batch whose rows lie
/// in one chunk is a view of it; the others are copied.
Dataset<ColumnBatch> from_chunks(std::vector<ColumnBatch> chunks, Count size,
                                 FromColumnsOptions options = {});

}  // namespace infeed::detail
