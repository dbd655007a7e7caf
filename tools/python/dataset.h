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

/// Reads the keywords of the package's Dataset.iterate.
IterateOptions iterate_options(const nb::dict& given);
/// Throws failed_precondition if the elements have to be put into batches first.
void check_can_be_iterated(const describe::Description& description);
/// Starts an iteration.
nb::object iterate(const describe::Description& description, const nb::dict& options);
/// Returns the element of a step, and the list of its rows' places, as the package's Place takes
/// them: file, record, offset, count, why_not.
nb::tuple element_at(const describe::Description& description, std::uint64_t step,
                     const nb::dict& options);
/// Returns the checkpoint at which this dataset, a host's share, goes on (reshard_checkpoint.h).
std::string resharded(const describe::Description& description, const std::string& checkpoint);

}  // namespace infeed::python
