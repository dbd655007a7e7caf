#include "infeed/detail/printable_text.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>

namespace infeed::detail {
namespace {

std::uint32_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

std::uint32_t code_point(std::string_view character) {
  if (character.size() == 1) return byte_at(character, 0);
  std::uint32_t code = byte_at(character, 0) & (0x7fU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) {
    code = code << 6U | (byte_at(character, i) & 0x3fU);
  }
  return code;
}

bool acts(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/// Returns the byte that "\xNN" stands for, or -1.
int coded_byte(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (text.size() < 4 || !text.starts_with("\\x")) return -1;
  const int high = digit(text[2]);
  const int low = digit(text[3]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool has_code(std::string_view text) {
  for (std::size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at + 1)) {
    if (coded_byte(text.substr(at)) >= 0) return true;
  }
  return false;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const std::uint32_t first = byte_at(text, 0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xc2 && first < 0xe0 ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xc0U) != 0x80U) return 0;
  }
  if (length < 3) return length;
  const std::uint32_t code = code_point(text.substr(0, length));
  const bool is_overlong = code < (length == 3 ? 0x800U : 0x10000U);
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return is_overlong || is_surrogate || code > 0x10ffff ? 0 : length;
}

bool has_only_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool acts_on_terminal(std::string_view character) { return acts(code_point(character)); }

std::string printable_text(std::string_view text, LineBreaks line_breaks) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const bool is_break = character == "\n" || character == "\t";
    const std::uint32_t code = code_point(character);
    if (length != 0 && (!acts(code) || (is_break && line_breaks == LineBreaks::keep))) {
      result += character;
    } else if (is_break) {
      result += character == "\n" ? "\\n" : "\\t";
    } else if (length < 2) {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", code);
    } else {
      fmt::format_to(std::back_inserter(result), "\\u{:04x}", code);
    }
    text.remove_prefix(character.size());
  }
  return result;
}

std::string utf8_name(std::string_view bytes) {
  if (has_only_utf8(bytes) && !has_code(bytes)) return std::string(bytes);
  std::string name;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) {
      fmt::format_to(std::back_inserter(name), "\\x{:02x}", byte_at(bytes, 0));
    } else if (bytes.front() == '\\') {
      name += "\\\\";
    } else {
      name += bytes.substr(0, length);
    }
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return name;
}

std::string bytes_of_utf8_name(std::string_view name) {
  if (!has_code(name)) return std::string(name);
  std::string bytes;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const int byte = coded_byte(name.substr(i));
    if (byte >= 0) {
      bytes += static_cast<char>(byte);
      i += 3;
    } else {
      bytes += name[i];
      if (name.substr(i, 2) == "\\\\") ++i;
    }
  }
  return bytes;
}

}  // namespace infeed::detail
