#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <span>

#include "features/column_items.h"
#include "features/feature_functions.h"

/// Operations that make vectors of whole numbers: one_hot, multi_hot.
namespace infeed::detail {
namespace {

std::int64_t checked_depth(Count depth) {
  constexpr std::int64_t kDepthMax = 1 << 24;
  if (depth < 1 || depth > kDepthMax) {
    refuse_option(
        fmt::format("depth is {}; the number of different values is expected, from 1 to "
                    "{}",
                    depth.value(), kDepthMax));
  }
  return depth.value();
}

void check_dtype(DType dtype) {
  if (dtype == DType::bytes) refuse_option("dtype is bytes; a number's type is expected");
}

/// Returns a tensor of zeros.
Tensor zeros(DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  const auto bytes = tensor.writable_bytes();
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  return tensor;
}

/// Reads whole numbers from `begin` on as unsigned ones; negative ones become large.
using ReadNumbers = void (*)(const Column& column, std::size_t begin, std::span<std::uint64_t> to);

template <class T>
void read_numbers(const Column& column, std::size_t begin, std::span<std::uint64_t> to) {
  const T* const from = column.values<T>().data() + begin;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<std::uint64_t>(from[i]);
}

/// Calls put(i, number i) for the numbers from `begin` to `end`. They are read a few at a time, so that
/// what puts them is compiled for each type that is written, but not for each that is read.
template <class Put>
void for_each_number(const Column& column, ReadNumbers read, std::size_t begin, std::size_t end,
                     std::int64_t depth, Put put) {
  std::array<std::uint64_t, 256> numbers;
  while (begin < end) {
    const std::size_t count = std::min(end - begin, numbers.size());
    read(column, begin, std::span(numbers).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      if (numbers[i] >= static_cast<std::uint64_t>(depth)) [[unlikely]] {
        refuse_item(column, static_cast<std::int64_t>(begin + i),
                    fmt::format("{} is found, but a whole number from 0 to {} is expected",
                                shown_item(column, begin + i), depth - 1));
      }
      put(begin + i, static_cast<std::size_t>(numbers[i]));
    }
    begin += count;
  }
}

template <class Out>
Column one_hot(const Column& column, ReadNumbers read, std::int64_t depth) {
  std::vector<std::int64_t> extents(column.values().shape().begin(), column.values().shape().end());
  extents.push_back(depth);
  Tensor values = zeros(dtype_of<Out>(), Shape(std::span<const std::int64_t>(extents)));
  Out* const to = values.template writable<Out>().data();
  for_each_run(column, [&](std::size_t begin, std::size_t end) {
    for_each_number(column, read, begin, end, depth, [&](std::size_t i, std::size_t number) {
      to[i * static_cast<std::size_t>(depth) + number] = converted<Out>(std::uint8_t{1});
    });
  });
  return with_values(column, std::move(values));
}

Column one_hot(const Column& column, ReadNumbers read, std::int64_t depth, DType dtype) {
  return with_dtype(dtype, [&]<class Out>(Out) { return one_hot<Out>(column, read, depth); });
}

/// Calls visit(row, begin, end) for each row's numbers.
template <class Visit>
void for_each_row(const Column& column, const Visit& visit) {
  const auto rows = static_cast<std::size_t>(column.rows());
  const auto per_item = static_cast<std::size_t>(numbers_per_item(column));
  if (column.is_ragged()) {
    const auto splits = column.row_splits();
    for (std::size_t row = 0; row < rows; ++row) {
      visit(row, static_cast<std::size_t>(splits[row]) * per_item,
            static_cast<std::size_t>(splits[row + 1]) * per_item);
    }
    return;
  }
  std::size_t row = 0;
  const auto visit_next = [&](std::size_t begin, std::size_t end) { visit(row++, begin, end); };
  if (column.kind() == Column::Kind::padded) return for_each_run(column, visit_next);
  for (std::size_t i = 0; i < rows; ++i) visit_next(i * per_item, (i + 1) * per_item);
}

template <class Out>
Column multi_hot(const Column& column, ReadNumbers read, std::int64_t depth, bool counts) {
  Tensor values = zeros(dtype_of<Out>(), {column.rows(), depth});
  Out* const to = values.template writable<Out>().data();
  for_each_row(column, [&](std::size_t row, std::size_t begin, std::size_t end) {
    Out* const places = to + row * static_cast<std::size_t>(depth);
    for_each_number(column, read, begin, end, depth, [&](std::size_t i, std::size_t number) {
      if (!counts) {
        places[number] = converted<Out>(std::uint8_t{1});
      } else if constexpr (std::is_arithmetic_v<Out> && !std::is_same_v<Out, bool>) {
        if (std::is_integral_v<Out> && places[number] == std::numeric_limits<Out>::max()) {
          refuse_item(column, static_cast<std::int64_t>(i),
                      fmt::format("{} comes more often than {} counts", number,
                                  to_string(dtype_of<Out>())));
        }
        ++places[number];
      }
    });
  });
  return Column::dense(std::move(values));
}

Column multi_hot(const Column& column, ReadNumbers read, std::int64_t depth,
                 const feature::MultiHot& step) {
  return with_dtype(
      step.dtype, [&]<class Out>(Out) { return multi_hot<Out>(column, read, depth, step.counts); });
}

}  // namespace

FeatureFunction feature_function(const feature::OneHot& step) {
  check_dtype(step.dtype);
  return [depth = checked_depth(step.depth), dtype = step.dtype](const Column& column) {
    return visit_whole_numbers(
        column, [&]<class T>(T) { return one_hot(column, &read_numbers<T>, depth, dtype); });
  };
}

FeatureFunction feature_function(const feature::MultiHot& step) {
  check_dtype(step.dtype);
  const bool counts_badly =
      step.dtype == DType::boolean || step.dtype == DType::float16 || step.dtype == DType::bfloat16;
  if (step.counts && counts_badly) {
    refuse_option(
        fmt::format("dtype is {}, which counts badly; take float32 or a type of whole "
                    "numbers",
                    to_string(step.dtype)));
  }
  return [depth = checked_depth(step.depth), step](const Column& column) {
    if (column.levels() > 1) refuse_column_of(column, "rows without inner rows");
    return visit_whole_numbers(
        column, [&]<class T>(T) { return multi_hot(column, &read_numbers<T>, depth, step); });
  };
}

}  // namespace infeed::detail
