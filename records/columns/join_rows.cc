#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "infeed/error.h"
#include "infeed/records/column_batch.h"

namespace infeed {
namespace {

[[noreturn]] void refuse_to_join(std::string message) {
  throw Error(ErrorCode::invalid_argument, "join_rows: " + std::move(message));
}

Tensor unset_tensor(DType dtype, Shape shape, const TensorPool* pool) {
  return pool == nullptr ? Tensor(dtype, std::move(shape)) : Tensor(dtype, std::move(shape), *pool);
}

/// Joins tensors one behind the other along axis 0.
Tensor joined_tensors(std::span<const Column> columns, const TensorPool* pool) {
  const Tensor& first = columns.front().values();
  std::int64_t rows = 0;
  for (const Column& column : columns) rows += column.values().shape()[0];
  Tensor result = unset_tensor(first.dtype(), Shape(rows, first.shape().without_first()), pool);
  std::byte* at = result.writable_bytes().data();
  for (const Column& column : columns) {
    const Tensor& part = column.values();
    if (part.bytes() != 0) std::memcpy(at, part.data(), part.bytes());
    at += part.bytes();
  }
  return result;
}

/// Joins partitions. Splits and offsets begin with 0 in each part; lengths are copied as they are.
Tensor joined_partitions(std::span<const Column> columns, std::size_t level, bool are_lengths,
                         const TensorPool* pool) {
  const std::int64_t extra = are_lengths ? 0 : 1;
  std::int64_t entries = extra;
  for (const Column& column : columns) entries += column.partitions()[level].shape()[0] - extra;
  Tensor result = unset_tensor(DType::int64, {entries}, pool);
  const auto to = result.writable<std::int64_t>();
  std::size_t at = 0;
  std::int64_t base = 0;
  if (!are_lengths) to[at++] = 0;
  for (const Column& column : columns) {
    const auto part = column.partitions()[level].values<std::int64_t>();
    for (const std::int64_t entry : part.subspan(static_cast<std::size_t>(extra))) {
      to[at++] = base + entry;
    }
    if (!are_lengths) base += part.back();
  }
  return result;
}

Column joined_columns(std::span<const Column> columns, std::string_view name,
                      const TensorPool* pool) {
  const Column& first = columns.front();
  const auto shape_of = [](const Column& column) {
    return column.values().shape().without_first();
  };
  for (const Column& column : columns) {
    if (column.kind() != first.kind() || column.dtype() != first.dtype() ||
        column.levels() != first.levels() || shape_of(column) != shape_of(first)) {
      refuse_to_join(fmt::format(
          "column '{}' is {} of {} {} in one batch and {} of {} {} in "
          "another; all must be alike",
          name, to_string(first.kind()), to_string(first.dtype()), shape_of(first).to_string(),
          to_string(column.kind()), to_string(column.dtype()), shape_of(column).to_string()));
    }
  }
  std::vector<Tensor> partitions;
  const bool are_lengths = first.kind() == Column::Kind::padded;
  for (std::size_t i = 0; i < first.partitions().size(); ++i) {
    partitions.push_back(joined_partitions(columns, i, are_lengths, pool));
  }
  return Column::of_parts(first.kind(), joined_tensors(columns, pool), std::move(partitions));
}

ColumnBatch join(std::span<const ColumnBatch> batches, const TensorPool* pool) {
  if (batches.empty()) return {};
  const ColumnBatch& first = batches.front();
  for (const ColumnBatch& batch : batches) {
    const bool has_all = std::all_of(first.names().begin(), first.names().end(),
                                     [&](const auto& name) { return batch.find(name) != nullptr; });
    if (has_all && batch.names().size() == first.names().size()) continue;
    refuse_to_join(fmt::format("one batch has the columns [{}], another [{}]",
                               fmt::join(first.names(), ", "), fmt::join(batch.names(), ", ")));
  }
  if (batches.size() == 1) return first;
  std::vector<Column> joined;
  joined.reserve(first.columns().size());
  std::vector<Column> parts(batches.size());
  for (std::size_t i = 0; i < first.columns().size(); ++i) {
    const std::string& name = first.names()[i];
    for (std::size_t b = 0; b < batches.size(); ++b) parts[b] = *batches[b].find(name);
    joined.push_back(joined_columns(parts, name, pool));
  }
  return first.with_columns(std::move(joined));
}

}  // namespace

ColumnBatch join_rows(std::span<const ColumnBatch> batches) { return join(batches, nullptr); }

ColumnBatch join_rows(std::span<const ColumnBatch> batches, const TensorPool& pool) {
  return join(batches, &pool);
}

}  // namespace infeed
