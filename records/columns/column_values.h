#pragma once

#include <cstdint>

#include "infeed/records/column_schema.h"
#include "infeed/records/detail/store_number.h"
#include "infeed/records/dtype.h"
#include "infeed/records/tensor.h"

/// Handles numbers whose type is known only when the program runs.
namespace infeed::detail {

/// Calls visit(T{}) with the type of `dtype`, which is not bytes.
template <class Visitor>
decltype(auto) with_dtype(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::boolean:
      return visit(bool{});
    case DType::int8:
      return visit(std::int8_t{});
    case DType::int16:
      return visit(std::int16_t{});
    case DType::int32:
      return visit(std::int32_t{});
    case DType::int64:
      return visit(std::int64_t{});
    case DType::uint8:
      return visit(std::uint8_t{});
    case DType::uint16:
      return visit(std::uint16_t{});
    case DType::uint32:
      return visit(std::uint32_t{});
    case DType::uint64:
      return visit(std::uint64_t{});
    case DType::float16:
      return visit(infeed::float16{});
    case DType::bfloat16:
      return visit(infeed::bfloat16{});
    case DType::float32:
      return visit(float{});
    case DType::float64:
    case DType::bytes:
      break;
  }
  return visit(double{});
}

/// Returns the bytes of a Tensor. Throws when none can have that dtype and shape.
std::size_t checked_tensor_bytes(DType dtype, const Shape& shape);

/// Returns a column's default, if it is numbers: [items of a dense row], or [values] of another
/// kind. Throws invalid_argument when they don't fit the column's type.
Tensor default_numbers(const ColumnType& type);

/// Throws invalid_argument when parts of the type don't fit each other.
void check_column_type(const ColumnType& type);

}  // namespace infeed::detail
