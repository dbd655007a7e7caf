#pragma once

#include <infeed/error.h>

#include "python/nanobind_headers.h"

namespace infeed::python {

/// Lets every infeed::Error that leaves C++ become the Python exception infeed.Error, with code,
/// stage, file, offset, record and is_terminal. A Python function's own exception is its __cause__.
void bind_errors(nb::module_& module);

/// Returns the Error that stands for a Python exception, which it keeps as its cause.
Error error_of(nb::python_error&& exception, std::string_view what);

}  // namespace infeed::python
