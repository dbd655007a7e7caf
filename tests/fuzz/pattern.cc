#include <infeed/error.h>
#include <infeed/records/limits.h>

#include "fuzz.h"
#include "io/pattern/path_pattern.h"

namespace infeed::fuzz {
namespace {

/// Matches the parts from `at` on one by one, by definition.
bool matches(const std::vector<std::string>& pattern, std::size_t at,
             const std::vector<std::string>& path, std::size_t from) {
  if (at == pattern.size()) return from == path.size();
  if (!detail::is_any_depth(pattern[at])) {
    return from < path.size() && detail::part_matches(pattern[at], path[from]) &&
           matches(pattern, at + 1, path, from + 1);
  }
  const bool is_last = at + 1 == pattern.size();
  if (!is_last && matches(pattern, at + 1, path, from)) return true;
  for (std::size_t end = from; end < path.size() && !path[end].starts_with('.'); ++end) {
    if (matches(pattern, at + 1, path, end + 1)) return true;
  }
  return false;
}

}  // namespace

/// A pattern and a path, with a zero between them: each alternative of the braces matches as the
/// definition says, and a name without wildcards matches itself alone.
void check(Input input) {
  constexpr std::size_t kNamesMax = 100;  // some inputs stand for a hundred thousand names
  constexpr std::size_t kPartsMax = 8;    // the definition takes time that doubles with each part
  const std::string_view text = input.rest();
  const std::size_t zero = std::min(text.find('\0'), text.size());
  const std::string pattern(text.substr(0, zero));
  const std::string path(text.substr(std::min(zero + 1, text.size())));
  if (path.find('\0') != path.npos) return;  // no file has such a name
  std::vector<std::string> names;
  try {
    names = detail::expand_braces(pattern);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::invalid_argument, "too many names are refused as such");
    return;
  }
  require(!names.empty() && names.size() <= limits::shard_names, "the limit of names holds");
  require(pattern.find('{') != pattern.npos || names.front() == pattern,
          "a pattern without braces stays as it is");
  const std::vector<std::string> parts = detail::path_parts(path);
  for (std::size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) {
    const bool found = detail::path_matches(names[i], path);
    const std::vector<std::string> wanted = detail::path_parts(names[i]);
    if (wanted.size() <= kPartsMax && parts.size() <= kPartsMax)
      require(found == matches(wanted, 0, parts, 0), "a match is one by the definition");
    if (!detail::has_wildcard(names[i]))
      require(detail::path_matches(names[i], names[i]), "a plain name matches itself");
  }
}

}  // namespace infeed::fuzz
