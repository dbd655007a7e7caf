#pragma once

#include <infeed/pipeline/detail/elementwise.h>

namespace infeed::detail {

/// `spec` with its kernel wrapped in what spec.guard asks for. Throws invalid_argument for options
/// that make no sense or elements that can't be copied for another try.
ElementwiseSpec guarded(ElementwiseSpec spec, const TypeInfo& in_type);

}  // namespace infeed::detail
