#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "columns/column_values.h"
#include "columns/nearest_half.h"
#include "infeed/error.h"
#include "infeed/records/column.h"

/// Goes through the items of a column whatever its kind.
namespace infeed::detail {

/// Says where number or text `index` of values() lies: "row 3", "row 3, item 1".
std::string place_of_item(const Column& column, std::int64_t index);
/// Throws data_loss for a value of the data.
[[noreturn]] void refuse_item(const Column& column, std::int64_t index, const std::string& what);
/// Throws invalid_argument for a column that the operation doesn't take.
[[noreturn]] void refuse_column_of(const Column& column, std::string_view expected);
[[noreturn]] void refuse_option(std::string what);

/// Returns a column of the same rows with other values, one for each item of `column`.
Column with_values(const Column& column, Tensor values);
/// Writes a number for a message: "nan", "0.1", "7".
std::string shown_number(double value);
/// Writes number `index` of a column's values for a message.
std::string shown_item(const Column& column, std::size_t index);

/// True where static_cast<To>(value) is defined and changes nothing but a float's precision.
template <class To, class From>
bool holds(From value) {
  if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, bool>) {
      return value == From{0} || value == From{1};
    } else if constexpr (std::is_same_v<From, bool>) {
      return true;
    } else {
      return std::in_range<To>(value);
    }
  } else if constexpr (std::is_integral_v<To>) {
    const auto number = static_cast<double>(
        static_cast<std::conditional_t<std::is_floating_point_v<From>, From, float>>(value));
    if constexpr (std::is_same_v<To, bool>) {
      return number == 0 || number == 1;
    } else {
      constexpr double kLowest = static_cast<double>(std::numeric_limits<To>::min());
      // The highest value may have no double of its own; twice half of what follows it has.
      constexpr double kBehind =
          2 * static_cast<double>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1));
      return number >= kLowest && number < kBehind && number == std::trunc(number);
    }
  } else {
    return true;  // overflow is seen by the result
  }
}

/// Converts a number; one that To doesn't hold becomes 0.
template <class To, class From>
To converted(From value) {
  using Number = std::conditional_t<std::is_arithmetic_v<From>, From, float>;
  const auto number = static_cast<Number>(value);
  if constexpr (std::is_integral_v<To>) {
    return holds<To>(value) ? static_cast<To>(number) : To{0};
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(number);
  } else if constexpr (std::is_same_v<Number, float> || sizeof(Number) <= 2) {
    return To(static_cast<float>(number));
  } else {
    return nearest_half<To>(static_cast<double>(number));
  }
}

/// Number of neighbouring values in the tensor that belong to an item: its shape's product.
inline std::int64_t numbers_per_item(const Column& column) { return column.row_shape().items(); }

/// Calls run(begin, end) for the stretches of values() that are no padding.
template <class Run>
void for_each_run(const Column& column, Run run) {
  const auto total = static_cast<std::size_t>(column.values().shape().items());
  if (column.kind() != Column::Kind::padded) return run(std::size_t{0}, total);
  const auto numbers = static_cast<std::size_t>(numbers_per_item(column));
  const std::size_t row_numbers = static_cast<std::size_t>(column.width()) * numbers;
  std::size_t begin = 0;
  for (const std::int64_t length : column.lengths()) {
    run(begin, begin + static_cast<std::size_t>(length) * numbers);
    begin += row_numbers;
  }
}

/// Maps the numbers from `begin` to `end` of a column's values. Returns false if there is one that it
/// can't take.
using MapRange = std::function<bool(std::size_t begin, std::size_t end)>;
/// Says of number `index` of a column's values, which isn't taken, what was found and expected.
using DescribeItem = std::function<std::string(std::size_t index)>;

/// Calls map_items for all numbers of a column but its padding, and map_padding for that, in their
/// order. Throws data_loss for the first number that isn't taken; describe is empty if all are.
void map_ranges(const Column& column, const MapRange& map_items, const MapRange& map_padding,
                const DescribeItem& describe);

/// Makes numbers of type Out from a column's numbers of type In. map(number, is_bad) gives each;
/// it sets is_bad to anything but 0 for one that it can't take.
template <class In, class Out, class Map>
Column map_numbers(const Column& column, Map map, const DescribeItem& describe = {}) {
  Tensor values(dtype_of<Out>(), column.values().shape());
  const In* const from = column.values<In>().data();
  Out* const to = values.template writable<Out>().data();
  map_ranges(
      column,
      [&map, from, to](std::size_t begin, std::size_t end) {
        unsigned is_bad = 0;
        for (std::size_t i = begin; i < end; ++i) to[i] = map(from[i], is_bad);
        return is_bad == 0;
      },
      [from, to](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) to[i] = converted<Out>(from[i]);
        return true;
      },
      describe);
  return with_values(column, std::move(values));
}

/// Calls visit(T{}) with the type of the column's numbers. Throws for text.
template <class Visit>
Column visit_numbers(const Column& column, Visit visit) {
  if (column.dtype() == DType::bytes) refuse_column_of(column, "numbers (cast makes them of text)");
  return with_dtype(column.dtype(), visit);
}

/// Calls visit(T{}) with the type of the column's whole numbers. Throws for others.
template <class Visit>
Column visit_whole_numbers(const Column& column, Visit visit) {
  return visit_numbers(column, [&]<class T>(T) -> Column {
    if constexpr (std::is_integral_v<T>) {
      return visit(T{});
    } else {
      refuse_column_of(column, "whole numbers");
    }
  });
}

}  // namespace infeed::detail
