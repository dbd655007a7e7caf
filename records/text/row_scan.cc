#include "infeed/records/detail/row_scan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "text/text_masks.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t bits_from(unsigned first) {
  return first >= 64 ? 0 : ~std::uint64_t{0} << first;
}
constexpr std::uint64_t bits_below(unsigned end) { return ~bits_from(end); }

/// Follows quotes through blocks of 64 bytes.
class QuoteMasks {
 public:
  /// Returns a mask of the bytes of a block that lie in quotes. `field_begins` marks the places
  /// where a quote opens a field.
  std::uint64_t inside(const char* block, std::uint64_t quotes, std::uint64_t field_begins) {
    // As a rule every other quote opens something: a field, or, behind another quote, the second
    // half of the same field.
    if (passed_ == 0) {
      const std::uint64_t parity = sum_of_bits_before(quotes) ^ (in_quotes_ ? bits_from(0) : 0);
      const std::uint64_t may_open = field_begins | quotes << 1 | (closed_at_end_ ? 1 : 0);
      if ((quotes & parity & ~may_open) == 0) {
        in_quotes_ = (parity >> 63) != 0;
        closed_at_end_ = (quotes & ~parity) >> 63 != 0;
        return parity;
      }
    }
    return walk(block, quotes, field_begins | (closed_at_end_ ? 1 : 0));
  }
  /// Passes over a block that has no quotes and lies outside of quotes.
  void pass_none() { closed_at_end_ = false; }
  bool in_quotes() const { return in_quotes_; }

 private:
  /// Sets bit i where the bits up to and with i are odd in number.
  static std::uint64_t sum_of_bits_before(std::uint64_t bits) {
    for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
  }

  /// Does the same by walking from quote to quote.
  std::uint64_t walk(const char* block, std::uint64_t quotes, std::uint64_t field_begins) {
    closed_at_end_ = false;  // since this walk looks behind the block
    std::uint64_t inside = 0;
    unsigned at = std::exchange(passed_, 0U);
    while (true) {
      if (!in_quotes_) {
        const std::uint64_t opening = quotes & field_begins & bits_from(at);
        if (opening == 0) return inside;
        at = static_cast<unsigned>(std::countr_zero(opening)) + 1;
        in_quotes_ = true;
        continue;
      }
      const std::uint64_t closing = quotes & bits_from(at);
      if (closing == 0) {
        passed_ = at > 64 ? at - 64 : 0;
        return inside | bits_from(at);
      }
      const auto quote = static_cast<unsigned>(std::countr_zero(closing));
      inside |= bits_from(at) & bits_below(quote);
      const bool is_pair = block[quote + 1] == '"';
      at = quote + (is_pair ? 2 : 1);
      in_quotes_ = is_pair;
      if (at > 64) {
        passed_ = at - 64;
        return inside;
      }
    }
  }

  bool in_quotes_ = false;
  bool closed_at_end_ = false;  ///< the last byte was a quote that may yet be the first of a pair
  unsigned passed_ = 0;         ///< bytes of the next block that the walk has looked at
};

template <bool kHasQuotes>
[[gnu::always_inline]] inline RowScan scan(const char* begin, const char* end, std::size_t rows_max,
                                           const RowFormat& format) {
  RowScan found{.end = begin};
  QuoteMasks quote_masks;
  std::uint64_t row_begins = 1;    // bit 0: the block's first byte begins a row
  std::uint64_t field_begins = 1;  // bit 0: it begins a field
  std::uint64_t lone_return = 0;   // bit 0: the block before ended with a CR that began a line
  std::size_t lines = 0;
  for (const char* block = begin; block < end; block += 64) {
    const Bytes64 bytes(block);
    const auto left = static_cast<std::size_t>(end - block);
    const std::uint64_t there = left < 64 ? bits_below(static_cast<unsigned>(left)) : bits_from(0);
    const std::uint64_t line_ends = bytes.equal('\n') & there;
    std::uint64_t row_ends = line_ends;
    if constexpr (kHasQuotes) {
      const std::uint64_t quotes = bytes.equal('"') & there;
      const std::uint64_t separators = line_ends | bytes.equal(format.delimiter);
      if (quotes != 0 || quote_masks.in_quotes()) {
        row_ends &= ~quote_masks.inside(block, quotes, separators << 1 | field_begins);
      } else {
        quote_masks.pass_none();
      }
      field_begins = separators >> 63;
    }
    std::uint64_t counted = row_ends;
    if (!format.keeps_empty_lines) {
      const std::uint64_t begins = row_ends << 1 | row_begins;
      const std::uint64_t returns = bytes.equal('\r') & begins;
      counted &= ~(begins | returns << 1 | lone_return);
      row_begins = row_ends >> 63;
      lone_return = returns >> 63;
    }
    const auto count = static_cast<std::size_t>(std::popcount(counted));
    if (count == 0) {
      lines += static_cast<std::size_t>(std::popcount(line_ends));
      continue;
    }
    const std::size_t take = std::min(count, rows_max - found.rows);
    unsigned last = 63U - static_cast<unsigned>(std::countl_zero(counted));
    if (take < count) {
      for (std::size_t i = 1; i < take; ++i) counted &= counted - 1;
      last = static_cast<unsigned>(std::countr_zero(counted));
    }
    found.rows += take;
    found.end = block + last + 1;
    found.lines = lines + static_cast<std::size_t>(std::popcount(line_ends & bits_below(last + 1)));
    if (found.rows == rows_max) return found;
    lines += static_cast<std::size_t>(std::popcount(line_ends));
  }
  found.in_quotes = quote_masks.in_quotes();
  return found;
}

RowScan scan_any(const char* begin, const char* end, std::size_t rows_max,
                 const RowFormat& format) {
  return format.has_quotes ? scan<true>(begin, end, rows_max, format)
                           : scan<false>(begin, end, rows_max, format);
}

#if defined(__x86_64__) && defined(__GNUC__)
#define INFEED_TEXT_DISPATCH 1

/// Twice as quick as the baseline, which has no instruction that counts bits.
__attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))) RowScan scan_avx2(const char* begin,
                                                                        const char* end,
                                                                        std::size_t rows_max,
                                                                        const RowFormat& format) {
  return format.has_quotes ? scan<true>(begin, end, rows_max, format)
                           : scan<false>(begin, end, rows_max, format);
}
#endif

}  // namespace

RowScan scan_rows(const char* begin, const char* end, std::size_t rows_max,
                  const RowFormat& format) {
  if (rows_max == 0) return {.end = begin};
#if defined(INFEED_TEXT_DISPATCH)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
                               __builtin_cpu_supports("popcnt");
  if (has_avx2) return scan_avx2(begin, end, rows_max, format);
#endif
  return scan_any(begin, end, rows_max, format);
}

}  // namespace infeed::detail
