#pragma once

#include "python/nanobind_headers.h"

namespace infeed::python {

/// Adds _run_command(arguments) -> exit status: the `infeed` command, which the wheel doesn't hold a
/// second time as a program of its own.
void bind_command(nb::module_& module);

}  // namespace infeed::python
