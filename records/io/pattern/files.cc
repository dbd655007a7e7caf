#include "infeed/records/files.h"

#include <cstdint>
#include <fmt/format.h>

#include "infeed/detail/parse_whole.h"
#include "infeed/error.h"

namespace infeed {

std::string shard_name(std::string_view prefix, Shard shard, std::string_view extension) {
  if (shard.index >= shard.count) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("shard {} of {} does not exist; they count from 0", shard.index, shard.count));
  }
  return fmt::format("{}-{:05}-of-{:05}{}{}", prefix, shard.index, shard.count,
                     extension.empty() ? "" : ".", extension);
}

std::optional<ShardName> parse_shard_name(std::string_view file) {
  // The name is prefix-S...S-of-N...N[.extension]; the prefix may hold dashes itself.
  const std::size_t folder_end = file.rfind('/') + 1;  // 0 when there is none
  const std::size_t middle = file.rfind("-of-");
  if (middle == std::string_view::npos || middle < folder_end) return std::nullopt;
  const std::size_t dash = file.rfind('-', middle - 1);
  if (middle == 0 || dash == std::string_view::npos || dash < folder_end) return std::nullopt;
  const auto parse = [](std::string_view digits, std::uint32_t& value) {
    return digits.size() >= 5 && detail::parse_whole(digits, value);
  };
  const std::string_view rest = file.substr(middle + 4);
  const std::size_t dot = rest.find('.');
  ShardName name;
  if (!parse(file.substr(dash + 1, middle - dash - 1), name.shard.index)) return std::nullopt;
  if (!parse(rest.substr(0, dot), name.shard.count)) return std::nullopt;
  if (name.shard.count == 0) return std::nullopt;
  name.prefix = file.substr(0, dash);
  if (dot != std::string_view::npos) name.extension = rest.substr(dot + 1);
  return name;
}

}  // namespace infeed
