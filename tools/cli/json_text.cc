#include "cli/json_text.h"

#include <algorithm>

namespace infeed::tools {

std::string without_control_characters(std::string_view dumped, const std::stop_token& stop) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  std::string text;
  text.reserve(dumped.size() + 1);
  std::size_t next_look = 0;
  while (!dumped.empty()) {
    if (text.size() >= next_look) {
      throw_if_stopped(stop, "the JSON was written");
      next_look += kPieceBytes;
    }
    const std::size_t length = std::max<std::size_t>(detail::utf8_length(dumped), 1);
    const std::string_view character = dumped.substr(0, length);
    if (character == "\x7f") {
      text += "\\u007f";
    } else if (length == 1) {
      text += character;
    } else {
      // A multi-byte character that acts on terminals becomes \\uNNNN, as JSON would write it.
      text += detail::printable_text(character);
    }
    dumped.remove_prefix(length);
  }
  return text;
}

}  // namespace infeed::tools
