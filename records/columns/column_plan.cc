#include "columns/column_plan.h"

#include <fmt/format.h>
#include <limits>
#include <string>
#include <utility>

#include "columns/column_values.h"
#include "columns/feature_reading.h"
#include "infeed/error.h"
#include "infeed/records/detail/feature_codec.h"

namespace infeed::detail {
namespace {

template <class T>
void parse_scalar(const PlannedColumn&, const FeatureView* view, GrowingColumn& out,
                  std::size_t row, const TensorPool&) {
  read_numbers(*view, std::span<T>(reinterpret_cast<T*>(out.values.data()) + row, 1));
}

template <class T>
void parse_dense(const PlannedColumn& column, const FeatureView* view, GrowingColumn& out,
                 std::size_t row, const TensorPool&) {
  const std::size_t count = column.item_values;
  read_numbers_or_bytes(*view,
                        std::span<T>(reinterpret_cast<T*>(out.values.data()) + row * count, count));
}

/// Cuts the items of a row into inner sequences.
void end_cut_row(const PlannedColumn& column, const FeatureView* view, std::size_t items,
                 GrowingColumn& out, const TensorPool& pool) {
  const bool has_splits = std::holds_alternative<RowSplits>(*column.type.partition);
  const std::vector<std::size_t> ends = ends_of_rows(view[column.cut_by], has_splits, *view, items);
  const std::int64_t begin = out.partitions[1].values<std::int64_t>().back();
  for (const std::size_t end : ends) {
    out.partitions[1].push_back(begin + static_cast<std::int64_t>(end), pool);
  }
  end_row(out.partitions[0], ends.size(), pool);
}

template <class T>
void parse_ragged(const PlannedColumn& column, const FeatureView* view, GrowingColumn& out,
                  std::size_t, const TensorPool& pool) {
  end_row(out.partitions[0], append_numbers<T>(column, *view, out.values, pool), pool);
}

template <class T>
void parse_cut(const PlannedColumn& column, const FeatureView* view, GrowingColumn& out,
               std::size_t, const TensorPool& pool) {
  end_cut_row(column, view, append_numbers<T>(column, *view, out.values, pool), out, pool);
}

void parse_ragged_bytes(const PlannedColumn& column, const FeatureView* view, GrowingColumn& out,
                        std::size_t, const TensorPool& pool) {
  const std::size_t items = append_texts(*view, out, column.partitions - 1, pool);
  if (column.type.partition) {
    end_cut_row(column, view, items, out, pool);
  } else {
    end_row(out.partitions[0], items, pool);
  }
}

void parse_bytes(const PlannedColumn&, const FeatureView* view, GrowingColumn& out, std::size_t,
                 const TensorPool& pool) {
  append_text(view->single_bytes(), out, 0, pool);
}

template <class T>
void parse_padded(const PlannedColumn& column, const FeatureView* view, GrowingColumn& out,
                  std::size_t row, const TensorPool&) {
  const std::size_t count = view->is_present() ? count_numbers<T>(column, *view) : 0;
  const std::size_t items = count / column.item_values;
  if (count % column.item_values != 0) refuse_multiple(*view, count, column.item_values);
  const auto width = static_cast<std::size_t>(*column.type.width);
  if (items > width) {
    throw Error(ErrorCode::data_loss,
                fmt::format("{} has {} values, but is to be padded to {}; cut it, or make the "
                            "width larger",
                            view->subject(), items, width));
  }
  const std::size_t row_values = width * column.item_values;
  T* const to = reinterpret_cast<T*>(out.values.data()) + row * row_values;
  if (count != 0) read_numbers_or_bytes(*view, std::span<T>(to, count));
  pad_row(column, to, count, row_values);
  out.partitions[0].values<std::int64_t>()[row] = static_cast<std::int64_t>(items);
}

/// Pads all rows to the longest one, once they are there.
Column finish_padded(const PlannedColumn& column, std::size_t rows, GrowingColumn& growing,
                     const TensorPool& pool) {
  const auto splits = growing.partitions[0].values<std::int64_t>();
  Tensor lengths(DType::int64, {static_cast<std::int64_t>(rows)}, pool);
  std::int64_t width = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int64_t length = splits[i + 1] - splits[i];
    lengths.writable<std::int64_t>()[i] = length;
    width = std::max(width, length);
  }
  Tensor values(column.type.dtype,
                Shape(static_cast<std::int64_t>(rows), Shape(width, column.type.shape)), pool);
  with_dtype(column.type.dtype, [&]<class T>(T) {
    const std::size_t row_values = static_cast<std::size_t>(width) * column.item_values;
    T* to = values.writable<T>().data();
    for (std::size_t i = 0; i < rows; ++i, to += row_values) {
      const auto begin = static_cast<std::size_t>(splits[i]) * column.item_values;
      const auto end = static_cast<std::size_t>(splits[i + 1]) * column.item_values;
      const T* const from = growing.values.values<T>().data();
      std::copy(from + begin, from + end, to);
      pad_row(column, to, end - begin, row_values);
    }
  });
  return Column::padded(std::move(values), std::move(lengths));
}

/// Returns the shape of a row of a column with fixed rows.
Shape row_shape(const ColumnType& type) {
  return type.width ? Shape(*type.width, type.shape) : type.shape;
}

/// Sets the members that follow from `column.type`.
void plan(PlannedColumn& column) {
  const ColumnType& type = column.type;
  column.item_values = static_cast<std::size_t>(type.shape.items());
  column.item_bytes = type.dtype == DType::bytes ? 1 : checked_tensor_bytes(type.dtype, type.shape);
  column.must_be_there = !type.missing;
  if (type.kind == Column::Kind::bytes) {
    column.parse = &parse_bytes;
    column.partitions = 1;
    column.has_fixed_rows = false;
    return;
  }
  if (type.kind == Column::Kind::ragged_bytes) {
    column.parse = &parse_ragged_bytes;
    column.partitions = type.ragged_levels == 2 ? 3 : 2;
    column.has_fixed_rows = false;
    column.must_be_there = false;
    return;
  }
  store_number(type.padding, type.dtype, column.padding.data());
  if (type.missing) column.missing = default_numbers(type);
  with_dtype(type.dtype, [&]<class T>(T) {
    constexpr bool kIsByte = std::is_same_v<T, std::uint8_t>;
    if (type.kind == Column::Kind::dense) {
      column.parse = type.shape.rank() == 0 ? &parse_scalar<T> : &parse_dense<T>;
      return;
    }
    column.must_be_there = kIsByte && !type.missing && !type.partition;
    column.has_fixed_rows = type.width.has_value();
    column.partitions = type.ragged_levels == 2 ? 2 : 1;
    column.parse = type.width       ? &parse_padded<T>
                   : type.partition ? &parse_cut<T>
                                    : &parse_ragged<T>;
  });
  if (column.has_fixed_rows) {
    column.row_bytes = checked_tensor_bytes(type.dtype, row_shape(type));
  }
}

}  // namespace

std::unique_ptr<PlannedColumn> plan_column(ColumnType type) {
  auto column = std::make_unique<PlannedColumn>();
  column->type = std::move(type);
  plan(*column);
  return column;
}

void append_default(const PlannedColumn& column, GrowingColumn& out, std::size_t row,
                    const TensorPool& pool) {
  if (column.is_of_bytes()) {
    std::size_t items = 0;
    if (const auto* const texts = std::get_if<std::vector<std::string>>(&*column.type.missing)) {
      items = texts->size();
      for (const std::string& text : *texts) append_text(text, out, column.partitions - 1, pool);
    }
    if (column.partitions == 3) {
      if (items != 0) end_row(out.partitions[1], items, pool);
      items = items == 0 ? 0 : 1;
    }
    if (column.partitions >= 2) end_row(out.partitions[0], items, pool);
    return;
  }
  const std::span<const std::byte> bytes(column.missing->data(), column.missing->bytes());
  if (column.type.kind == Column::Kind::dense) {
    std::copy(bytes.begin(), bytes.end(), out.values.data() + row * bytes.size());
    return;
  }
  std::size_t items = bytes.size() / column.item_bytes;
  if (column.has_fixed_rows) {
    with_dtype(column.type.dtype, [&]<class T>(T) {
      const std::size_t row_values =
          static_cast<std::size_t>(*column.type.width) * column.item_values;
      T* const to = reinterpret_cast<T*>(out.values.data()) + row * row_values;
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(to));
      pad_row(column, to, bytes.size() / sizeof(T), row_values);
    });
    out.partitions[0].values<std::int64_t>()[row] = static_cast<std::int64_t>(items);
    return;
  }
  std::copy(bytes.begin(), bytes.end(), out.values.extend(bytes.size(), pool));
  if (column.partitions == 2) {
    if (items != 0) end_row(out.partitions[1], items, pool);
    items = items == 0 ? 0 : 1;
  }
  end_row(out.partitions[0], items, pool);
}

namespace {

std::size_t fixed_values_bytes(const PlannedColumn& column, std::size_t rows) {
  std::size_t bytes = 0;
  const bool is_too_much = __builtin_mul_overflow(rows, column.row_bytes, &bytes) ||
                           bytes > std::numeric_limits<std::ptrdiff_t>::max();
  if (!is_too_much) return bytes;
  const Shape shape(static_cast<std::int64_t>(rows), row_shape(column.type));
  return checked_tensor_bytes(column.type.dtype, shape);  // throws
}

}  // namespace

std::size_t column_row_bytes_min(const PlannedColumn& column) {
  const std::size_t places_bytes = column.partitions == 0 ? 0 : sizeof(std::int64_t);
  return places_bytes + column.row_bytes;
}

void begin_column(const PlannedColumn& column, std::size_t rows_max, GrowingColumn& out,
                  const TensorPool& pool) {
  const auto guess = [&column](std::size_t part) {
    const std::size_t bytes = column.guesses[part].load(std::memory_order_relaxed);
    return bytes + bytes / 16;
  };
  if (column.has_fixed_rows) {
    const std::size_t bytes = fixed_values_bytes(column, rows_max);
    out.values.reserve(bytes, pool);  // also for no bytes: a Tensor must lie somewhere
    out.values.extend(bytes, pool);
    if (column.partitions != 0) {
      out.partitions[0].reserve(rows_max * sizeof(std::int64_t), pool);
      out.partitions[0].extend(rows_max * sizeof(std::int64_t), pool);
    }
    return;
  }
  out.values.reserve(guess(0), pool);
  for (std::size_t i = 0; i < column.partitions; ++i) {
    const std::size_t rows_bytes = (rows_max + 1) * sizeof(std::int64_t);
    out.partitions[i].reserve(i == 0 ? rows_bytes : guess(i + 1), pool);
    out.partitions[i].push_back(0, pool);
  }
}

void truncate_column(const PlannedColumn& column, std::size_t rows, GrowingColumn& out) {
  if (column.has_fixed_rows) return;
  std::size_t items = rows;
  for (std::size_t i = 0; i < column.partitions; ++i) {
    const auto splits = out.partitions[i].values<std::int64_t>();
    out.partitions[i].truncate((items + 1) * sizeof(std::int64_t));
    items = static_cast<std::size_t>(splits[items]);
  }
  out.values.truncate(items * column.item_bytes);
  out.longest.truncate(rows);
}

std::size_t padded_bytes(const PlannedColumn& column, const GrowingColumn& growing) {
  if (column.type.kind != Column::Kind::padded || column.has_fixed_rows) return 0;
  const std::span<const std::int64_t> splits = growing.partitions[0].values<std::int64_t>();
  const auto width = static_cast<std::size_t>(growing.longest.length(splits));
  const std::size_t row_bytes = width * column.item_bytes;
  return (splits.size() - 1) * (row_bytes + sizeof(std::int64_t));
}

Column finish_column(const PlannedColumn& column, std::size_t rows, GrowingColumn& growing,
                     const TensorPool& pool) {
  const ColumnType& type = column.type;
  const auto row_count = static_cast<std::int64_t>(rows);
  if (type.kind == Column::Kind::dense) {
    return Column::dense(growing.values.finish(type.dtype, Shape(row_count, type.shape), pool));
  }
  if (type.width) {
    return Column::padded(
        growing.values.finish(type.dtype, Shape(row_count, Shape(*type.width, type.shape)), pool),
        growing.partitions[0].finish(DType::int64, {row_count}, pool));
  }
  column.guesses[0].store(growing.values.size_bytes(), std::memory_order_relaxed);
  for (std::size_t i = 0; i < column.partitions; ++i) {
    const std::size_t bytes = growing.partitions[i].size_bytes();
    column.guesses[i + 1].store(bytes, std::memory_order_relaxed);
  }
  if (type.kind == Column::Kind::padded) return finish_padded(column, rows, growing, pool);
  std::vector<Tensor> partitions;
  for (std::size_t i = 0; i < column.partitions; ++i) {
    const auto count = static_cast<std::int64_t>(growing.partitions[i].size<std::int64_t>());
    partitions.push_back(growing.partitions[i].finish(DType::int64, {count}, pool));
  }
  const auto items = static_cast<std::int64_t>(growing.values.size_bytes() / column.item_bytes);
  if (type.kind == Column::Kind::ragged) {
    return Column::ragged(growing.values.finish(type.dtype, Shape(items, type.shape), pool),
                          std::move(partitions));
  }
  Tensor data = growing.values.finish(DType::uint8, {items}, pool);
  Tensor offsets = std::move(partitions.back());
  partitions.pop_back();
  if (type.kind == Column::Kind::bytes) return Column::bytes(std::move(offsets), std::move(data));
  return Column::ragged_bytes(std::move(partitions), std::move(offsets), std::move(data));
}

void add_column(ColumnPlan& plan, std::unique_ptr<const PlannedColumn> column) {
  if (!column->has_fixed_rows && plan.has_fixed_rows) {
    plan.has_fixed_rows = false;
    plan.first_growing = plan.columns.size();
  }
  plan.columns.push_back(std::move(column));
}

std::shared_ptr<const ColumnNames> column_names(const ColumnSchema& schema) {
  std::vector<std::string> names;
  for (const ColumnType& type : schema.columns()) names.push_back(type.name);
  return column_names(std::move(names));
}

}  // namespace infeed::detail
