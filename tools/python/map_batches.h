#pragma once

#include <infeed/describe/stage_table.h>

#include "python/nanobind_headers.h"

namespace infeed::python {

/// Adds map_batches: a Python function that threads of the engine call.
void add_map_batches(describe::StageTable& table);
/// Adds random_key(), for functions that the consumer calls.
void bind_random_keys(nb::module_& module);

}  // namespace infeed::python
