#pragma once

#include <cstdint>

#include "infeed/records/dtype.h"

/// Not meant to be used directly.
namespace infeed::detail {

/// Writes the number as a value of the type, which is not bytes. Returns false when the type can't
/// hold it. Floats are rounded, but no finite number becomes infinite.
bool store_number(double number, DType dtype, void* out);
bool store_number(std::int64_t number, DType dtype, void* out);

}  // namespace infeed::detail
