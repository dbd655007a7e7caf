#pragma once

#include <functional>
#include <string>

#include <infeed/pipeline/slices.h>

namespace infeed::detail {

/// Makes slices whose signature is only made when it is asked for, in place of the one in `spec`. It
/// must return the same text each time.
NodePointer make_slices(SlicesSpec spec, std::function<std::string()> signature);

}  // namespace infeed::detail
