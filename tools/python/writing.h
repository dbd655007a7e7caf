#pragma once

#include "python/nanobind_headers.h"

namespace infeed::python {

/// Adds RecordWriter and example().
void bind_writing(nb::module_& module);
/// Adds convert(), which the package's own function of that name calls.
void bind_convert(nb::module_& module);

}  // namespace infeed::python
