#include "cli/json_text.h"

#include <algorithm>

namespace infeed::tools {

std::string without_control_characters(std::string_view dumped) {
  std::string text;
  while (!dumped.empty()) {
    const std::size_t length = std::max<std::size_t>(detail::utf8_length(dumped), 1);
    const std::string_view character = dumped.substr(0, length);
    if (character == "\x7f") {
      text += "\\u007f";
    } else {
      // A character of several bytes that acts comes as \\uNNNN, which is what JSON writes, too.
      text += length > 1 ? detail::printable_text(character) : std::string(character);
    }
    dumped.remove_prefix(length);
  }
  return text;
}

}  // namespace infeed::tools
