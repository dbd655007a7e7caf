#include "infeed/pipeline/unbatch_as.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <infeed/records/crc32c.h>

namespace infeed::detail {

void check_leaf_column(const Column& column, const std::string& name, DType dtype,
                       std::string_view kind, bool is_kind) {
  if (is_kind && column.dtype() == dtype) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("column '{}' is {} of {} {}, but the member needs it {}, of {}; cast and "
                          "other features (features.h) change columns",
                          name, to_string(column.kind()), to_string(column.dtype()),
                          column.row_shape().to_string(), kind, to_string(dtype)));
}

std::string columns_signature(const std::vector<std::string>& names, std::size_t leaves) {
  if (names.size() != leaves) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("unbatch_as: a row has {} values, but {} columns are named ({}); give "
                            "a name for each value, in order",
                            leaves, names.size(), fmt::join(names, ", ")));
  }
  const std::string all = fmt::format("{}", fmt::join(names, std::string_view("\0", 1)));
  return fmt::format("columns_of_rows({}, {:08x})", leaves, crc32c(all));
}

RowPart row_part(const Column& column, std::size_t row) {
  const auto numbers = static_cast<std::size_t>(column.row_shape().items());
  if (column.is_ragged()) {
    const auto splits = column.row_splits();
    return {static_cast<std::size_t>(splits[row]) * numbers,
            static_cast<std::size_t>(splits[row + 1] - splits[row]) * numbers};
  }
  if (column.kind() == Column::Kind::padded) {
    return {row * static_cast<std::size_t>(column.width()) * numbers,
            static_cast<std::size_t>(column.lengths()[row]) * numbers};
  }
  return {row * numbers, numbers};
}

}  // namespace infeed::detail
