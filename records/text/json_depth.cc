#include "infeed/records/detail/json_depth.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <set>
#include <vector>

#include "infeed/detail/parse_whole.h"
#include "infeed/error.h"

namespace infeed::detail {

bool exceeds_json_limits(std::string_view text, std::size_t values_max) {
  int depth = 0;
  std::size_t values = 0;  // before each stands a bracket, a comma or a colon
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      in_string = !in_string;
    } else if (in_string) {
      if (c == '\\') ++i;  // an escaped character, even a quote, doesn't end the string
    } else if (c == '{' || c == '[') {
      if (++depth > limits::json_depth || ++values > values_max) return true;
    } else if (c == ',' || c == ':') {
      if (++values > values_max) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

namespace {

/// Returns true for a whole number that is neither one of 64 bits nor a double.
bool is_rounded(std::string_view number) {
  if (number.size() < 19 || number.find_first_of(".eE") != number.npos) return false;
  std::int64_t small = 0;
  std::uint64_t large = 0;
  double nearest = 0;
  return !parse_whole(number, small) && !parse_whole(number, large) &&
         parse_whole(number, nearest) && fmt::format("{:.0f}", nearest) != number;
}

}  // namespace

void refuse_lossy_json(std::string_view json, std::string_view what) {
  const auto line_of = [json](std::size_t at) {
    return 1 + std::ranges::count(json.substr(0, at), '\n');
  };
  std::vector<std::set<std::string_view>> names;  // in the objects and lists around the place
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '-' || (json[i] >= '0' && json[i] <= '9')) {
      const std::size_t begin = i;
      i = std::min(json.find_first_not_of("0123456789+-.eE", begin), json.size());
      const std::string_view number = json.substr(begin, i - begin);
      if (is_rounded(number)) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} has the whole number {} (line {}), whose last digits would be "
                                "lost: whole numbers go from -2^63 to 2^63 - 1 (uint64: to 2^64 - "
                                "1); as a float it is written with an exponent, as 1e30",
                                what, number.substr(0, 40), line_of(begin)));
      }
      --i;  // the character behind it is looked at, too
      continue;
    }
    if (json[i] == '{' || json[i] == '[') names.emplace_back();
    if (json[i] == '}' || json[i] == ']') names.pop_back();
    if (json[i] != '"') continue;
    const std::size_t begin = i + 1;
    for (++i; json[i] != '"'; ++i) i += json[i] == '\\';
    const std::string_view text = json.substr(begin, i - begin);
    const std::size_t behind = json.find_first_not_of(" \t\r\n", i + 1);
    const bool is_name = behind != json.npos && json[behind] == ':';
    if (!is_name || names.back().insert(text).second) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} gives \"{}\" twice in one object (the second one in line {}): only "
                            "one value can count, so take one away",
                            what, text, line_of(begin)));
  }
}

std::string_view json_limits_text() {
  static_assert(limits::json_depth == 100);
  return "objects and arrays lie more than 100 deep in each other, or have millions of values";
}

std::string too_many_json_columns(std::size_t columns, std::size_t names_bytes) {
  if (columns <= limits::json_columns && names_bytes <= limits::json_names_bytes) return {};
  return fmt::format(
      "there are {} columns with {} bytes of names, where {} and {} are the limits; put what the "
      "names tell apart into lists of values",
      columns, names_bytes, limits::json_columns, limits::json_names_bytes);
}

}  // namespace infeed::detail
