#include "io/url.h"

#include <charconv>
#include <fmt/format.h>
#include <string_view>

#include "infeed/records/files.h"

namespace infeed::detail {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string_view url_scheme(std::string_view name) {
  const std::size_t end = name.find("://");
  if (end == name.npos || end == 0 || !is_letter(name[0])) return {};
  const std::string_view scheme = name.substr(0, end);
  for (const char c : scheme) {
    if (!is_letter(c) && !is_digit(c) && c != '+' && c != '-' && c != '.') return {};
  }
  return scheme;
}

std::string percent_encode(std::string_view text, Slash slash) {
  std::string encoded;
  for (const char c : text) {
    const bool stays = is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' ||
                       c == '~' || (c == '/' && slash == Slash::keep);
    if (stays) {
      encoded += c;
    } else {
      fmt::format_to(std::back_inserter(encoded), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string percent_decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const bool is_code = text[i] == '%' && i + 2 < text.size() &&
                         std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr ==
                             text.data() + i + 3;
    decoded += is_code ? static_cast<char>(value) : text[i];
    if (is_code) i += 2;
  }
  return decoded;
}

}  // namespace infeed::detail

namespace infeed {

bool is_url(std::string_view name) { return !detail::url_scheme(name).empty(); }

std::string redacted_url(std::string_view name) {
  const std::string_view scheme = detail::url_scheme(name);
  if (scheme.empty() || scheme == "s3") return std::string(name);
  const std::size_t host = scheme.size() + 3;
  const std::size_t host_end = std::min(name.find_first_of("/?#", host), name.size());
  const std::size_t at = name.substr(0, host_end).rfind('@');
  std::string shown(name.substr(0, host));
  shown += at == name.npos || at < host ? name.substr(host) : name.substr(at + 1);
  const std::size_t query = shown.find('?');
  const std::string_view asked =
      query == shown.npos ? std::string_view() : std::string_view(shown).substr(query);
  for (const std::string_view secret : {"Signature=", "sig=", "token=", "key="}) {
    if (asked.find(secret) != asked.npos) return shown.substr(0, query) + "?...";
  }
  return shown;
}

}  // namespace infeed
