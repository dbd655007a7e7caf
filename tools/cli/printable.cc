#include "cli/printable.h"

#include <fmt/format.h>

namespace infeed::tools {

std::size_t utf8_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) return 0;
  }
  return length;
}

std::string printable(std::string_view text, int width) {
  std::string result;
  int used = 0;
  while (!text.empty()) {
    if (used >= width) return result + "...";
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0 || first < 0x20 || first == 0x7f) {
      result += first == '\n' ? "\\n" : first == '\t' ? "\\t" : fmt::format("\\x{:02x}", first);
      used += 2;
      text.remove_prefix(1);
    } else {
      result += text.substr(0, length);
      ++used;
      text.remove_prefix(length);
    }
  }
  return result;
}

}  // namespace infeed::tools
