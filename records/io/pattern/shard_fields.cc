#include "io/pattern/shard_fields.h"

#include <algorithm>
#include <fmt/format.h>

namespace infeed::detail {

std::optional<ShardFields> ShardFields::of(std::string_view file) {
  constexpr std::string_view kOf = "-of-";
  // The prefix may hold dashes and "-of-" itself.
  const std::size_t middle = file.rfind(kOf);
  if (middle == file.npos || middle == 0) return std::nullopt;
  const std::size_t begin = file.rfind('-', middle - 1) + 1;
  const std::size_t folder_end = file.rfind('/') + 1;  // 0 when there is none
  if (begin <= folder_end) return std::nullopt;
  const std::string_view rest = file.substr(middle + kOf.size());
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits < kShardDigitsMin) return std::nullopt;
  return ShardFields{.before = file.substr(0, begin),
                     .number = file.substr(begin, middle - begin),
                     .count = rest.substr(0, digits),
                     .behind = rest.substr(digits)};
}

std::string ShardFields::with_number(std::uint32_t shard, std::size_t digits) const {
  return fmt::format("{}{:0{}}-of-{}{}", before, shard, digits, count, behind);
}

}  // namespace infeed::detail
