#pragma once

#include <string>

#include "world/mpi/mpi_functions.h"

namespace infeed::detail {

/// Returns the functions of the plug-in: that file, or where it is found if the name is empty (see
/// MpiOptions::plugin). Throws Error(not_found) with the places, or Error(failed_precondition) for
/// the plug-in of another version.
const InfeedMpiFunctions& load_mpi_plugin(const std::string& file);

}  // namespace infeed::detail
