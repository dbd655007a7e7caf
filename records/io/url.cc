#include "io/url.h"

#include <algorithm>
#include <fmt/format.h>

#include "infeed/detail/parse_whole.h"
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
    const bool is_code =
        text[i] == '%' && i + 2 < text.size() && parse_whole(text.substr(i + 1, 2), value, 16);
    decoded += is_code ? static_cast<char>(value) : text[i];
    if (is_code) i += 2;
  }
  return decoded;
}

}  // namespace infeed::detail

namespace infeed {
namespace {

/// True for "host", "host:port", "[::1]:port".
bool is_host(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon != text.npos && text.find(']', colon) == text.npos) {
    if (text.find_first_not_of("0123456789", colon + 1) != text.npos) return false;
    text = text.substr(0, colon);
  }
  if (text.starts_with('[')) return text.ends_with(']');
  return text.find_first_of(":@\\") == text.npos;
}

/// Returns where the query or fragment begins. The question marks of "-?????-of-00016" begin none:
/// they stand for the numbers of shards.
std::size_t find_query(std::string_view text) {
  const std::size_t found = text.find_first_of("?#");
  if (found == text.npos) return found;
  const std::size_t marks_end = std::min(text.find_first_not_of('?', found), text.size());
  const std::string_view behind = text.substr(marks_end);
  constexpr std::string_view kOf = "-of-";
  if (marks_end < found + 5 || !behind.starts_with(kOf)) return found;
  const std::size_t digits_end =
      std::min(behind.find_first_not_of("0123456789", kOf.size()), behind.size());
  if (digits_end < kOf.size() + 5) return found;
  const std::size_t more = behind.find_first_of("?#", digits_end);
  return more == behind.npos ? more : marks_end + more;
}

/// Returns where a query begins in an S3 name. A key or a pattern may hold a question mark, but one
/// followed by "=", "&" or "%" is a query of somebody who took the name for a web URL.
std::size_t find_query_of_key(std::string_view text) {
  const std::size_t found = text.find('?');
  if (found == text.npos || text.find_first_of("=&%", found) == text.npos) return text.npos;
  return found;
}

}  // namespace

bool is_url(std::string_view name) { return !detail::url_scheme(name).empty(); }

bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

std::string redacted_url(std::string_view name) {
  const std::string_view scheme = detail::url_scheme(name);
  if (scheme.empty()) return std::string(name);
  std::string shown(name.substr(0, scheme.size() + 3));
  std::string_view rest = name.substr(shown.size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  const std::size_t at = authority.rfind('@');
  // An authority that is no host may be the front of a password that holds one of "/?#".
  const bool may_be_secret =
      !is_host(authority.substr(at == authority.npos ? 0 : at + 1)) && rest.find('@') != rest.npos;
  if (may_be_secret) return shown + "...";
  if (at != authority.npos) rest.remove_prefix(at + 1);
  const std::size_t query = scheme == "s3" ? find_query_of_key(rest) : find_query(rest);
  shown += rest.substr(0, query);
  if (query != rest.npos) shown += rest[query] == '?' ? "?..." : "#...";
  return shown;
}

}  // namespace infeed
