#include "io/pattern/path_pattern.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <fnmatch.h>
#include <optional>
#include <utility>

#include "infeed/detail/parse_whole.h"
#include "infeed/error.h"
#include "infeed/records/files.h"
#include "infeed/records/limits.h"

namespace infeed::detail {
namespace {

/// Goes through the pattern once, with all places of the path that it may have come to: trying them
/// one by one would take time that doubles with each `**`.
bool parts_match(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  std::vector<bool> places(path.size() + 1);
  places[0] = true;
  for (const std::string& part : pattern) {
    std::vector<bool> next(places.size());
    const bool is_deep = is_any_depth(part);
    // As the last part it stands for files, of which there must be one.
    const bool may_be_none = is_deep && &part != &pattern.back();
    for (std::size_t at = 0; at < places.size(); ++at) {
      if (may_be_none && places[at]) next[at] = true;
      if (at == path.size()) break;
      next[at + 1] = is_deep ? (places[at] || next[at]) && !path[at].starts_with('.')
                             : places[at] && part_matches(part, path[at]);
    }
    places = std::move(next);
  }
  return places.back();
}

/// A brace of a pattern, with the alternatives that stand between it and its end.
struct Brace {
  std::size_t begin = 0;
  std::size_t end = 0;  ///< behind the closing one
  std::vector<std::string> alternatives;
};

std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t value = 0;
  return parse_whole(digits, value) ? std::optional(value) : std::nullopt;
}

Error too_many(const std::string& pattern) {
  return Error(ErrorCode::invalid_argument,
               fmt::format("the braces of '{}' stand for more than {} names, which is the limit; "
                           "name fewer",
                           redacted_url(pattern), limits::shard_names));
}

/// The numbers of "000..015"; nothing where it isn't two numbers.
std::optional<std::vector<std::string>> numbers_of(std::string_view range,
                                                   const std::string& pattern) {
  const std::size_t dots = range.find("..");
  if (dots == range.npos) return std::nullopt;
  const std::string_view first = range.substr(0, dots);
  const std::string_view last = range.substr(dots + 2);
  const std::optional<std::uint64_t> from = number_of(first);
  const std::optional<std::uint64_t> to = number_of(last);
  if (!from || !to) return std::nullopt;
  const std::uint64_t count = (*to > *from ? *to - *from : *from - *to);
  if (count >= limits::shard_names) throw too_many(pattern);
  const auto is_padded = [](std::string_view text) { return text.size() > 1 && text[0] == '0'; };
  const std::size_t width =
      is_padded(first) || is_padded(last) ? std::max(first.size(), last.size()) : 0;
  std::vector<std::string> numbers;
  for (std::uint64_t i = 0; i <= count; ++i) {
    numbers.push_back(fmt::format("{:0{}}", *to > *from ? *from + i : *from - i, width));
  }
  return numbers;
}

/// The alternatives of the brace at `begin`; nothing where it doesn't end or holds none.
std::optional<Brace> brace_at(const std::string& pattern, std::size_t begin) {
  Brace brace{.begin = begin, .end = 0, .alternatives = {}};
  std::size_t depth = 0;
  std::size_t from = begin + 1;
  for (std::size_t at = begin; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '\\') {
      ++at;
    } else if (c == '{') {
      ++depth;
    } else if (depth == 1 && (c == ',' || c == '}')) {
      brace.alternatives.push_back(pattern.substr(from, at - from));
      from = at + 1;
      brace.end = from;
      if (c == '}') break;
    } else if (c == '}') {
      --depth;
    }
    if (at + 1 >= pattern.size()) return std::nullopt;
  }
  if (brace.alternatives.size() > 1) return brace;
  auto numbers = numbers_of(brace.alternatives.front(), pattern);
  if (!numbers) return std::nullopt;
  brace.alternatives = std::move(*numbers);
  return brace;
}

std::optional<Brace> first_brace(const std::string& pattern) {
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '\\') {
      ++at;
    } else if (pattern[at] == '{') {
      if (auto brace = brace_at(pattern, at)) return brace;
    }
  }
  return std::nullopt;
}

}  // namespace

bool has_wildcard(std::string_view name) { return name.find_first_of("*?[\\") != name.npos; }

std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin || begin == 0) parts.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool part_matches(const std::string& part, const std::string& name) {
  return ::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0;
}

bool path_matches(const std::string& pattern, const std::string& path) {
  return parts_match(path_parts(pattern), path_parts(path));
}

std::vector<std::string> expand_braces(const std::string& pattern) {
  std::vector<std::string> whole;
  std::vector<std::string> open{pattern};  // the next one last
  while (!open.empty()) {
    const std::string next = std::move(open.back());
    open.pop_back();
    const std::optional<Brace> brace = first_brace(next);
    if (!brace) {
      whole.push_back(next);
      continue;
    }
    if (whole.size() + open.size() + brace->alternatives.size() > limits::shard_names) {
      throw too_many(pattern);
    }
    for (auto at = brace->alternatives.rbegin(); at != brace->alternatives.rend(); ++at) {
      open.push_back(next.substr(0, brace->begin) + *at + next.substr(brace->end));
    }
  }
  return whole;
}

}  // namespace infeed::detail
