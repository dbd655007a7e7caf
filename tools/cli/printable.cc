#include "cli/printable.h"

#include <algorithm>

#include <infeed/detail/printable_text.h>

namespace infeed::tools {

std::string printable(std::string_view text, int width) {
  std::string result;
  int used = 0;
  while (!text.empty()) {
    if (used >= width) return result + "...";
    const std::size_t length = detail::utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const bool is_shown = length != 0 && !detail::acts_on_terminal(character);
    result += is_shown ? std::string(character) : detail::printable_text(character);
    used += is_shown ? 1 : 2;
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace infeed::tools
