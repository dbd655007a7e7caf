#pragma once

#include <cstdint>

#include "infeed/records/dtype.h"

/// Not meant to be used directly.
namespace infeed::detail {

/// Writes the number in the type, which is not bytes; false when it is none of its values. Floats
/// are rounded.
bool store_number(double number, DType dtype, void* out);
bool store_number(std::int64_t number, DType dtype, void* out);

}  // namespace infeed::detail
