#pragma once

#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace infeed::detail {

/// Takes the number off the front of the text. Returns false, and takes nothing, if there is none
/// that fits. `base` is one of an integer.
template <typename Number, typename... Base>
bool take_number(std::string_view& text, Number& number, Base... base) {
  const auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), number, base...);
  if (failure != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// Returns false unless the whole text is a number that fits.
template <typename Number, typename... Base>
bool parse_whole(std::string_view text, Number& number, Base... base) {
  return take_number(text, number, base...) && text.empty();
}

}  // namespace infeed::detail
