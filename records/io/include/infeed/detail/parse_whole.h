#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace infeed::detail {

/// Returns false unless the whole text is a number that fits.
template <typename Number>
bool parse_whole(std::string_view text, Number& number, int base = 10) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return failure == std::errc() && end == text.data() + text.size();
}

}  // namespace infeed::detail
