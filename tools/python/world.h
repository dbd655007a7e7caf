#pragma once

#include "python/nanobind_headers.h"

namespace infeed::python {

/// Adds the functions that several processes of a job need.
void bind_world(nb::module_& module);

}  // namespace infeed::python
