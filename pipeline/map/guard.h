#pragma once

#include <infeed/pipeline/detail/elementwise.h>

namespace infeed::detail {

/// Returns `spec` with its kernel wrapped as spec.guard asks. Throws invalid_argument for bad
/// options, or for elements that can't be copied for another try.
ElementwiseSpec guarded(ElementwiseSpec spec, const TypeInfo& in_type);

}  // namespace infeed::detail
