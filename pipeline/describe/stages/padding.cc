#include "describe/stages/padding.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/detail/store_number.h>

#include "infeed/error.h"

namespace infeed::describe {

bool is_sequence(const Column& column) {
  return column.kind() == Column::Kind::ragged && column.levels() == 1;
}

std::size_t item_bytes_of(const Column& column) {
  return item_bytes(column.dtype()) * static_cast<std::size_t>(column.row_shape().items());
}

void check_sequence(const Column& row, std::int64_t width, double padding, std::string_view stage) {
  if (width >= 0 && row.row_splits().back() > width) {
    throw Error(ErrorCode::data_loss,
                fmt::format("{}: a row has {} items, but is to be padded to {}", stage,
                            row.row_splits().back(), width));
  }
  std::array<std::byte, 8> number{};
  if (!detail::store_number(padding, row.dtype(), number.data())) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: the padding {} is no {}", stage, padding, to_string(row.dtype())));
  }
}

Column filled_up(const Column& column, std::int64_t width, double padding) {
  const auto splits = column.row_splits();
  Tensor lengths(DType::int64, {column.rows()});
  const auto length = lengths.writable<std::int64_t>();
  for (std::size_t i = 0; i < length.size(); ++i) length[i] = splits[i + 1] - splits[i];
  if (width < 0) width = length.empty() ? 0 : std::ranges::max(length);
  std::array<std::byte, 8> pad{};
  detail::store_number(padding, column.dtype(), pad.data());
  Tensor values(column.dtype(), Shape(column.rows(), Shape(width, column.row_shape())));
  std::byte* to = values.writable_bytes().data();
  const std::size_t number = item_bytes(column.dtype());
  const std::size_t item = item_bytes_of(column);
  for (std::size_t i = 0; i < length.size(); ++i) {
    std::byte* const end = to + static_cast<std::size_t>(width) * item;
    const std::size_t bytes = static_cast<std::size_t>(length[i]) * item;
    std::copy_n(column.values().data() + static_cast<std::size_t>(splits[i]) * item, bytes, to);
    for (to += bytes; to != end; to += number) std::copy_n(pad.data(), number, to);
  }
  return Column::padded(std::move(values), std::move(lengths));
}

ColumnBatch filled_up(ColumnBatch batch, std::int64_t width, double padding) {
  const std::vector<std::string> names = batch.names();
  for (const std::string& name : names) {
    const Column& column = batch.column(name);
    if (is_sequence(column)) batch = batch.with_column(name, filled_up(column, width, padding));
  }
  return batch;
}

ColumnSchema padded_schema(const ColumnSchema& schema, std::optional<std::int64_t> width,
                           double padding) {
  ColumnSchema padded;
  for (ColumnType type : schema.columns()) {
    if (type.kind == Column::Kind::ragged && type.ragged_levels == 1) {
      type.kind = Column::Kind::padded;
      type.width = width;
      type.padding = padding;
    }
    padded.add(std::move(type));
  }
  return padded;
}

ColumnSchema padded_rows(const ColumnSchema& schema, std::optional<std::int64_t> width,
                         double padding) {
  ColumnSchema rows;
  for (ColumnType type : schema.columns()) {
    type.partition.reset();
    rows.add(std::move(type));
  }
  return padded_schema(rows, width, padding);
}

void require_widths(const std::optional<ColumnSchema>& rows, std::string_view stage) {
  if (!rows) return;
  for (const ColumnType& type : rows->columns()) {
    if (type.kind != Column::Kind::padded || type.width) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: the column '{}' is padded, but to no fixed width, so rows that "
                            "were read apart don't fit together: give it a width, or make it "
                            "ragged and put padded_batch here",
                            stage, type.name));
  }
}

}  // namespace infeed::describe
