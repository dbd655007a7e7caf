#pragma once

#include <infeed/describe/description.h>
#include <infeed/pipeline/iterate_options.h>

#include "python/nanobind_headers.h"

namespace infeed::python {

/// Adds Dataset: a describe::Description. The package's own class of that name stands on it.
void bind_datasets(nb::module_& module, std::shared_ptr<const describe::StageTable> table);
/// Adds Iterator.
void bind_iterators(nb::module_& module);
/// Adds the sources and stages that call Python to the table.
void add_python_stages(describe::StageTable& table);

/// Starts an iteration; the options are the keywords of the package's Dataset.iterate.
nb::object iterate(const describe::Description& description, const nb::dict& options);

}  // namespace infeed::python
