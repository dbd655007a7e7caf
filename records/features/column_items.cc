#include "features/column_items.h"

#include <algorithm>
#include <fmt/format.h>

namespace infeed::detail {

std::string place_of_item(const Column& column, std::int64_t index) {
  const bool is_text = column.dtype() == DType::bytes;
  if (!is_text) index /= std::max<std::int64_t>(1, numbers_per_item(column));
  if (column.kind() == Column::Kind::padded) {
    return fmt::format("row {}, item {}", index / column.width(), index % column.width());
  }
  if (!column.is_ragged()) return fmt::format("row {}", index);
  std::int64_t row = index;
  std::int64_t first = 0;  // item of the row
  for (std::size_t level = column.levels(); level-- > 0;) {
    const auto splits = column.row_splits(level);
    // Skips rows without items, which end where the wanted one begins.
    row = std::upper_bound(splits.begin(), splits.end(), row) - splits.begin() - 1;
    first = splits[static_cast<std::size_t>(row)];
    for (std::size_t inner = level + 1; inner < column.levels(); ++inner) {
      first = column.row_splits(inner)[static_cast<std::size_t>(first)];
    }
  }
  return fmt::format("row {}, item {}", row, index - first);
}

void refuse_item(const Column& column, std::int64_t index, const std::string& what) {
  throw Error(ErrorCode::data_loss, fmt::format("{}: {}", place_of_item(column, index), what));
}

void refuse_column_of(const Column& column, std::string_view expected) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the column is {} of {}, but {} are expected", to_string(column.kind()),
                          to_string(column.dtype()), expected));
}

void refuse_option(std::string what) { throw Error(ErrorCode::invalid_argument, std::move(what)); }

Column with_values(const Column& column, Tensor values) {
  switch (column.kind()) {
    case Column::Kind::dense:
    case Column::Kind::bytes:
      return Column::dense(std::move(values));
    case Column::Kind::padded:
      return Column::padded(std::move(values), column.partitions().back());
    case Column::Kind::ragged:
    case Column::Kind::ragged_bytes:
      break;
  }
  const auto splits = column.partitions().first(column.levels());
  return Column::ragged(std::move(values), {splits.begin(), splits.end()});
}

std::string shown_number(double value) { return fmt::format("{}", value); }

std::string shown_item(const Column& column, std::size_t index) {
  return with_dtype(column.dtype(), [&]<class T>(T) {
    const T value = column.values<T>()[index];
    if constexpr (std::is_integral_v<T>) {
      return fmt::format("{}", value);
    } else {
      return shown_number(converted<double>(value));
    }
  });
}

void map_ranges(const Column& column, const MapRange& map_items, const MapRange& map_padding,
                const DescribeItem& describe) {
  std::size_t done = 0;
  for_each_run(column, [&](std::size_t begin, std::size_t end) {
    map_padding(done, begin);
    done = end;
    if (map_items(begin, end)) [[likely]]
      return;
    // Looks once more for the first one: a test for each number would cost all of them.
    for (std::size_t i = begin; i < end; ++i) {
      if (!map_items(i, i + 1)) refuse_item(column, static_cast<std::int64_t>(i), describe(i));
    }
  });
  map_padding(done, static_cast<std::size_t>(column.values().shape().items()));
}

}  // namespace infeed::detail
