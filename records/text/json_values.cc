#include "text/json_values.h"

#include <cstring>
#include <fmt/format.h>

#include "columns/column_values.h"
#include "text/number_text.h"
#include "text/text_plan.h"

namespace infeed::detail {
namespace {

std::string shown_value(const char* begin, const char* end) {
  return quoted_text({begin, static_cast<std::size_t>(end - begin)});
}

bool fail_value(JsonCursor& cursor, const char* begin, DType dtype) {
  const char* end = begin;
  while (*end != ',' && *end != '}' && *end != ']' && *end != '\n') ++end;
  while (end != begin && (end[-1] == ' ' || end[-1] == '\r')) --end;
  return cursor.fail_at(
      begin, fmt::format("{} stands where {} is expected",
                         begin == end ? quoted_text({begin, 1}) : shown_value(begin, end),
                         expected_value(dtype)));
}

template <class T>
bool read_number_of(JsonCursor& cursor, T* out) {
  const char first = cursor.peek();
  if constexpr (!std::is_same_v<T, bool> && (std::is_integral_v<T> || sizeof(T) >= 4)) {
    static const ScanNumber scan = number_scan(dtype_of<T>(), NumberForm::json);
    const char* const end =
        scan_json_number(scan, cursor.at(), reinterpret_cast<std::byte*>(out), 0);
    if (end != nullptr) {
      cursor.go_to(end);
      return true;
    }
  }
  if constexpr (std::is_same_v<T, bool>) {
    if (first != 't' && first != 'f') return fail_value(cursor, cursor.at(), DType::boolean);
    *out = first == 't';
    return cursor.read_word(first == 't' ? "true" : "false");
  } else {
    constexpr DType kType = dtype_of<T>();
    if (first != '-' && (first < '0' || first > '9')) return fail_value(cursor, cursor.at(), kType);
    JsonNumber number;
    if (!cursor.read_number(number)) return false;
    NumberProblem problem = NumberProblem::none;
    if constexpr (std::is_integral_v<T>) {
      problem = number.is_integer ? parse_integer(number.begin, number.end, *out)
                                  : NumberProblem::no_number;
    } else if constexpr (sizeof(T) >= 4) {
      problem = parse_float(number.begin, number.end, *out);
    } else {
      problem = parse_half(number.begin, number.end, *out);
    }
    if (problem == NumberProblem::none) [[likely]] {
      return true;
    }
    return cursor.fail_at(
        number.begin,
        fmt::format(
            "{} is {}; expected is {}", shown_value(number.begin, number.end),
            problem == NumberProblem::out_of_range ? "beyond the column's type" : "no whole number",
            expected_value(kType)));
  }
}

bool read_text(JsonCursor& cursor, GrowingColumn& out, GrowingBuffer& offsets,
               const TensorPool& pool) {
  constexpr std::size_t kShortTextBytes = 32;
  if (cursor.peek() != '"') return fail_value(cursor, cursor.at(), DType::bytes);
  JsonString text;
  if (!cursor.read_string(text)) return false;
  GrowingBuffer& values = out.values;
  const std::size_t before = values.size_bytes();
  const std::size_t size = text.view().size();
  std::byte* const to = values.extend(size + kShortTextBytes, pool);
  if (text.has_escapes) {
    values.truncate(before + unescape_json(text, reinterpret_cast<char*>(to)));
  } else {
    // Most texts are short: they take one copy of fixed size, without a call and a loop.
    std::memcpy(to, text.begin, kShortTextBytes);
    if (size > kShortTextBytes) std::memcpy(to, text.begin, size);
    values.truncate(before + size);
  }
  offsets.push_back(static_cast<std::int64_t>(values.size_bytes()), pool);
  return true;
}

/// Calls read_item() for each item of a flat array. Returns the number of items, or -1.
template <class ReadItem>
std::ptrdiff_t read_array(JsonCursor& cursor, ReadItem read_item) {
  if (cursor.peek() != '[') {
    cursor.fail_expected("an array");
    return -1;
  }
  cursor.take();
  if (cursor.peek() == ']') {
    cursor.take();
    return 0;
  }
  for (std::ptrdiff_t count = 1;; ++count) {
    if (!read_item()) return -1;
    const char next = cursor.peek();
    if (next == ']') {
      cursor.take();
      return count;
    }
    if (next != ',') {
      cursor.fail_expected("',' or ']'");
      return -1;
    }
    cursor.take();
  }
}

/// Reads the numbers of a row whose place is known: dense, or padded to a fixed width.
template <class T>
bool read_fixed_row(JsonCursor& cursor, const PlannedColumn& column, GrowingColumn& out,
                    std::size_t row) {
  const std::size_t width =
      column.type.width ? static_cast<std::size_t>(*column.type.width) : std::size_t{1};
  const std::size_t room = width * column.item_values;
  T* const to = reinterpret_cast<T*>(out.values.data()) + row * room;
  const char* const begin = cursor.at();
  std::size_t count = 0;
  T beyond{};
  const std::ptrdiff_t found = read_array(
      cursor, [&] { return read_number_of(cursor, count < room ? to + count++ : &beyond); });
  if (found < 0) return false;
  const auto values = static_cast<std::size_t>(found);
  if (!column.type.width) {
    if (values == room) return true;
    return cursor.fail_at(
        begin, fmt::format("the array has {} values, but a row of shape {} has {}", values,
                           column.type.shape.to_string(), room));
  }
  if (values > room || values % column.item_values != 0) {
    return cursor.fail_at(begin,
                          fmt::format("the array has {} values, but a row has up to {} items "
                                      "of {}; cut it, or make the width larger",
                                      values, width, column.item_values));
  }
  T padding;
  std::memcpy(&padding, column.padding.data(), sizeof(T));
  std::fill(to + values, to + room, padding);
  out.partitions[0].values<std::int64_t>()[row] =
      static_cast<std::int64_t>(values / column.item_values);
  return true;
}

template <class T>
bool read_growing_row(JsonCursor& cursor, const PlannedColumn& column, GrowingColumn& out,
                      const TensorPool& pool) {
  const char* const begin = cursor.at();
  const std::ptrdiff_t found = read_array(cursor, [&] {
    T value{};
    if (!read_number_of(cursor, &value)) return false;
    out.values.extend_by<T>(1, pool)[0] = value;
    return true;
  });
  if (found < 0) return false;
  const auto values = static_cast<std::size_t>(found);
  if (values % column.item_values != 0) {
    return cursor.fail_at(begin, fmt::format("the array has {} values, which is no multiple of the "
                                             "{} of an item",
                                             values, column.item_values));
  }
  end_row(out.partitions[0], values / column.item_values, pool);
  return true;
}

}  // namespace

bool read_json_column(JsonCursor& cursor, const PlannedColumn& column, GrowingColumn& out,
                      std::size_t row, const TensorPool& pool) {
  const ColumnType& type = column.type;
  if (type.kind == Column::Kind::bytes) return read_text(cursor, out, out.partitions[0], pool);
  if (type.kind == Column::Kind::ragged_bytes) {
    const std::ptrdiff_t count =
        read_array(cursor, [&] { return read_text(cursor, out, out.partitions[1], pool); });
    if (count >= 0) end_row(out.partitions[0], static_cast<std::size_t>(count), pool);
    return count >= 0;
  }
  return with_dtype(type.dtype, [&]<class T>(T) {
    if (type.kind == Column::Kind::dense && type.shape.rank() == 0) {
      return read_number_of(cursor, reinterpret_cast<T*>(out.values.data()) + row);
    }
    return column.has_fixed_rows ? read_fixed_row<T>(cursor, column, out, row)
                                 : read_growing_row<T>(cursor, column, out, pool);
  });
}

}  // namespace infeed::detail
