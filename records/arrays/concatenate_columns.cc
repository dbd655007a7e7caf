#include "infeed/records/detail/concatenate_columns.h"

#include <cstring>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "infeed/error.h"

namespace infeed::detail {
namespace {

/// Of row splits or offsets, which begin with 0 in each column.
Tensor joined_ends(std::span<const Column* const> columns, std::size_t partition) {
  std::int64_t count = 1;
  for (const Column* column : columns) count += column->partitions()[partition].shape()[0] - 1;
  Tensor all(DType::int64, {count});
  const std::span<std::int64_t> out = all.writable<std::int64_t>();
  std::size_t at = 0;
  out[at] = 0;
  for (const Column* column : columns) {
    const std::int64_t base = out[at];
    const auto ends = column->partitions()[partition].values<std::int64_t>();
    for (const std::int64_t end : ends.subspan(1)) out[++at] = base + end;
  }
  return all;
}

Tensor joined_values(std::span<const Column* const> columns) {
  const Tensor& first = columns.front()->values();
  std::int64_t count = 0;
  for (const Column* column : columns) count += column->values().shape()[0];
  Tensor all(first.dtype(), Shape(count, first.shape().without_first()));
  std::byte* at = all.writable_bytes().data();
  for (const Column* column : columns) {
    const Tensor& values = column->values();
    if (values.bytes() != 0) std::memcpy(at, values.data(), values.bytes());
    at += values.bytes();
  }
  return all;
}

Column joined(std::span<const Column* const> columns, const std::string& name) {
  const Column& first = *columns.front();
  for (const Column* column : columns) {
    const bool fits = column->kind() == first.kind() && column->dtype() == first.dtype() &&
                      column->row_shape() == first.row_shape();
    if (fits) continue;
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("column '{}' is {} {}{} in one file and {} {}{} in the next; files whose "
                    "rows stand in one batch have the same columns",
                    name, to_string(first.kind()), to_string(first.dtype()),
                    first.row_shape().to_string(), to_string(column->kind()),
                    to_string(column->dtype()), column->row_shape().to_string()));
  }
  if (first.kind() == Column::Kind::dense) return Column::dense(joined_values(columns));
  if (first.kind() == Column::Kind::bytes) {
    return Column::bytes(joined_ends(columns, 0), joined_values(columns));
  }
  if (first.kind() != Column::Kind::ragged_bytes || first.levels() != 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("column '{}' is {}, which can't be joined here", name,
                            to_string(first.kind())));
  }
  std::vector<Tensor> splits;
  splits.push_back(joined_ends(columns, 0));
  return Column::ragged_bytes(std::move(splits), joined_ends(columns, 1), joined_values(columns));
}

}  // namespace

ColumnBatch concatenate_columns(std::span<const ColumnBatch> batches) {
  const ColumnBatch& first = batches.front();
  std::vector<NamedColumn> columns;
  for (const std::string& name : first.names()) {
    std::vector<const Column*> parts;
    for (const ColumnBatch& batch : batches) parts.push_back(&batch.column(name));
    columns.push_back({name, joined(parts, name)});
  }
  return ColumnBatch(std::move(columns));
}

}  // namespace infeed::detail
