#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace infeed::detail {

/// Writes a field of a line of text: tabs, line ends and backslashes by two characters each.
inline std::string escaped_field(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (c == '\n' || c == '\t' || c == '\\') {
      escaped += '\\';
      escaped += c == '\n' ? 'n' : (c == '\t' ? 't' : c);
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// Reads what escaped_field() wrote.
inline std::string unescaped_field(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      plain += text[i];
      continue;
    }
    ++i;
    plain += text[i] == 'n' ? '\n' : (text[i] == 't' ? '\t' : text[i]);
  }
  return plain;
}

}  // namespace infeed::detail
