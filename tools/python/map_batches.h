#pragma once

#include <infeed/describe/stage_table.h>

namespace infeed::python {

/// Adds map_batches, for where="thread".
void add_map_batches(describe::StageTable& table);

}  // namespace infeed::python
