#include "remote/aws/xml.h"

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <utility>

#include "infeed/detail/parse_whole.h"
#include "text/utf8.h"

namespace infeed::detail {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
    {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};

/// Takes a character that is written by its number off the front, as "&#39;" or "&#x27;": stores in Go
/// write quotes so.
std::optional<std::string> take_numbered(std::string_view& text) {
  if (!text.starts_with("&#")) return std::nullopt;
  const bool is_hexadecimal = text.starts_with("&#x");
  std::string_view rest = text.substr(is_hexadecimal ? 3 : 2);
  std::uint32_t code = 0;
  if (!take_number(rest, code, is_hexadecimal ? 16 : 10) || !rest.starts_with(';')) {
    return std::nullopt;
  }
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (code == 0 || code > 0x10ffff || is_surrogate) return std::nullopt;
  text = rest.substr(1);
  std::array<char, 4> bytes{};
  return std::string(bytes.data(), write_utf8(code, bytes.data()));
}

std::string resolved(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    if (const auto character = take_numbered(text)) {
      plain += *character;
      continue;
    }
    std::size_t taken = 1;
    char c = text.front();
    for (const auto& [entity, meaning] : kEntities) {
      if (!text.starts_with(entity)) continue;
      c = meaning;
      taken = entity.size();
    }
    plain += c;
    text.remove_prefix(taken);
  }
  return plain;
}

}  // namespace

std::optional<std::string> take_xml_text(std::string_view& document, std::string_view name) {
  const std::string opening = fmt::format("<{}>", name);
  const std::string closing = fmt::format("</{}>", name);
  const std::size_t begin = document.find(opening);
  if (begin == document.npos) return std::nullopt;
  const std::size_t end = document.find(closing, begin);
  if (end == document.npos) return std::nullopt;
  const std::size_t text = begin + opening.size();
  std::string found = resolved(document.substr(text, end - text));
  document.remove_prefix(end + closing.size());
  return found;
}

std::optional<std::string> xml_text(std::string_view document, std::string_view name) {
  return take_xml_text(document, name);
}

}  // namespace infeed::detail
