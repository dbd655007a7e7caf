#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "columns/column_plan.h"
#include "infeed/records/detail/text_value.h"
#include "text/number_text.h"
#include "text/text_masks.h"

/// Finds one cell of a table, and turns it into a value.
namespace infeed::detail {

/// Returns the first delimiter, line feed or carriage return. There is one, since a text ends with
/// a line feed.
inline const char* find_field_end(const char* at, char delimiter) {
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(delimiter);
  const auto ends_of = [wanted](const char* part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(part));
    const __m128i line_feed = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'));
    const __m128i carriage_return = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r'));
    const __m128i ends =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, wanted), _mm_or_si128(line_feed, carriage_return));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(ends));
  };
  // Looks at 32 bytes at once: most texts end there, but whether in the first 16 can't be foretold.
  for (;; at += 32) {
    const std::uint32_t found = ends_of(at) | ends_of(at + 16) << 16;
    if (found != 0) return at + std::countr_zero(found);
  }
#else
  while (*at != delimiter && *at != '\n' && *at != '\r') ++at;
  return at;
#endif
}

enum class CellProblem : std::uint8_t { none, no_value, out_of_range, missing, changed };

struct Cell {
  const char* begin;
  const char* end;
  bool is_quoted;
  bool has_pairs;  ///< each pair of quotes stands for one quote
};

/// Finds the cell at `at`, and returns the place behind it: a delimiter or a line end, unless the
/// row is wrong. A quote that isn't closed lets the cell end at `end`.
inline const char* find_cell(const char* at, const char* end, char delimiter, bool has_quotes,
                             Cell& cell) {
  if (*at != '"' || !has_quotes) {
    const char* const stop = find_field_end(at, delimiter);
    cell = {at, stop, false, false};
    return stop;
  }
  cell = {at + 1, nullptr, true, false};
  const char* stop = find_char(at + 1, end, '"');
  while (stop != end && stop[1] == '"') {
    cell.has_pairs = true;
    stop = find_char(stop + 2, end, '"');
  }
  cell.end = stop;
  return stop == end ? stop : stop + 1;
}

/// Returns the bytes of the line end at `at`; 0 where there is none.
constexpr std::size_t line_end_bytes(const char* at) {
  if (*at == '\n') return 1;
  return *at == '\r' && at[1] == '\n' ? 2 : 0;
}

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline bool parse_bool(std::string_view text, bool& out) {
  if (text == "1" || text == "0") {
    out = text == "1";
    return true;
  }
  const auto named = parse_bool_name(text);
  out = named.value_or(false);
  return named.has_value();
}

template <class T>
NumberProblem parse_number(const char* begin, const char* end, T* out) {
  if constexpr (std::is_same_v<T, bool>) {
    const std::string_view text(begin, static_cast<std::size_t>(end - begin));
    return parse_bool(text, *out) ? NumberProblem::none : NumberProblem::no_number;
  } else if constexpr (std::is_integral_v<T>) {
    return parse_integer(begin, end, *out);
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return parse_float(begin, end, *out);
  } else {
    return parse_half(begin, end, *out);
  }
}

/// Appends a text in quotes, with one quote for each pair.
inline void append_unquoted(const Cell& cell, GrowingBuffer& values, const TensorPool& pool) {
  for (const char* at = cell.begin; at < cell.end;) {
    const char* const quote = std::min(find_char(at, cell.end, '"') + 1, cell.end);
    const auto size = static_cast<std::size_t>(quote - at);
    std::memcpy(values.extend(size, pool), at, size);
    at = quote + 1;
  }
}

inline void append_cell(const Cell& cell, GrowingColumn& out, const TensorPool& pool) {
  constexpr std::size_t kShortBytes = 32;
  GrowingBuffer& values = out.values;
  if (cell.has_pairs) {
    append_unquoted(cell, values, pool);
  } else {
    // Most texts are short: they take one copy of fixed size, without a call and a loop.
    const auto size = static_cast<std::size_t>(cell.end - cell.begin);
    std::byte* const to = values.extend(size + kShortBytes, pool);
    std::memcpy(to, cell.begin, kShortBytes);
    if (size > kShortBytes) std::memcpy(to, cell.begin, size);
    values.truncate(values.size_bytes() - kShortBytes);
  }
  out.partitions[0].push_back(static_cast<std::int64_t>(values.size_bytes()), pool);
}

}  // namespace infeed::detail
