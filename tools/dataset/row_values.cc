#include "dataset/row_values.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <type_traits>

#include "cli/terminal.h"
#include "dataset/value_text.h"

namespace infeed::tools {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t kJsonValuesMax = 10'000;

/// Places in values(), or of texts.
struct ValueRange {
  std::int64_t first = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - first; }
};

bool is_text(const Column& column) { return column.dtype() == DType::bytes; }

ValueRange values_of_row(const Column& column, std::int64_t row) {
  ValueRange range{row, row + 1};
  for (std::size_t level = 0; level < column.levels(); ++level) {
    const auto splits = column.row_splits(level);
    range = {splits[static_cast<std::size_t>(range.first)],
             splits[static_cast<std::size_t>(range.end)]};
  }
  if (is_text(column)) return range;
  const std::int64_t item = column.row_shape().items();
  if (column.kind() == Column::Kind::padded) {
    const std::int64_t begin = row * column.width();
    range = {begin, begin + column.lengths()[static_cast<std::size_t>(row)]};
  }
  return {range.first * item, range.end * item};
}

/// Calls visit(values) with the column's numbers in their type.
template <class Visit>
auto visit_numbers(const Column& column, const Visit& visit) {
  switch (column.dtype()) {
    case DType::boolean:
      return visit(column.values<bool>());
    case DType::int8:
      return visit(column.values<std::int8_t>());
    case DType::int16:
      return visit(column.values<std::int16_t>());
    case DType::int32:
      return visit(column.values<std::int32_t>());
    case DType::int64:
      return visit(column.values<std::int64_t>());
    case DType::uint8:
    case DType::bytes:
      return visit(column.values<std::uint8_t>());
    case DType::uint16:
      return visit(column.values<std::uint16_t>());
    case DType::uint32:
      return visit(column.values<std::uint32_t>());
    case DType::uint64:
      return visit(column.values<std::uint64_t>());
    case DType::float16:
      return visit(column.values<float16>());
    case DType::bfloat16:
      return visit(column.values<bfloat16>());
    case DType::float32:
      return visit(column.values<float>());
    case DType::float64:
      return visit(column.values<double>());
  }
  return visit(column.values<std::uint8_t>());
}

template <class T>
std::string number_text(T number) {
  if constexpr (std::is_integral_v<T>) return fmt::format("{}", number);
  return fmt::format("{:.6g}", static_cast<double>(static_cast<float>(number)));
}
std::string number_text(double number) { return fmt::format("{:.6g}", number); }

template <class T>
OrderedJson number_json(T number) {
  if constexpr (std::is_arithmetic_v<T>) return number;
  return static_cast<float>(number);
}

/// Lists values until the text is about as long as it may be.
template <class TextOf>
std::string list_text(const ValueRange& range, int width, const TextOf& text_of) {
  std::string text = "[";
  for (std::int64_t i = range.first; i < range.end; ++i) {
    if (static_cast<int>(text.size()) > width / 2) {
      return text + fmt::format(", ... {} in all]", with_commas(range.size()));
    }
    text += (i == range.first ? "" : ", ") + text_of(i);
  }
  return text + "]";
}

}  // namespace

std::string column_kind_text(const Column& column) {
  if (is_text(column)) return std::string(to_string(column.kind()));
  std::string text = fmt::format("{} {}", to_string(column.kind()), to_string(column.dtype()));
  const Shape shape = column.row_shape();
  return shape.rank() == 0 ? text : text + " " + shape.to_string();
}

std::string row_text(const Column& column, std::int64_t row, int width) {
  const ValueRange range = values_of_row(column, row);
  if (column.kind() == Column::Kind::bytes) return describe_bytes(column.bytes(row), width);
  if (is_text(column)) {
    return list_text(range, width,
                     [&](std::int64_t i) { return describe_bytes(column.bytes(i), width / 2); });
  }
  return visit_numbers(column, [&]<class T>(std::span<const T> numbers) {
    const auto text_of = [&](std::int64_t i) {
      return number_text(numbers[static_cast<std::size_t>(i)]);
    };
    const bool is_one = column.kind() == Column::Kind::dense && column.row_shape().rank() == 0;
    return is_one ? text_of(row) : list_text(range, width, text_of);
  });
}

OrderedJson row_json(const Column& column, std::int64_t row) {
  const ValueRange range = values_of_row(column, row);
  const std::int64_t end = range.first + std::min(range.size(), kJsonValuesMax);
  OrderedJson values = OrderedJson::array();
  if (is_text(column)) {
    for (std::int64_t i = range.first; i < end; ++i) values.push_back(column.bytes(i));
  } else {
    visit_numbers(column, [&]<class T>(std::span<const T> numbers) {
      for (std::int64_t i = range.first; i < end; ++i) {
        values.push_back(number_json(numbers[static_cast<std::size_t>(i)]));
      }
    });
  }
  return {{"count", range.size()}, {"values", std::move(values)}};
}

}  // namespace infeed::tools
