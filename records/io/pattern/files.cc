#include "infeed/records/files.h"

#include <fmt/format.h>

#include "infeed/detail/parse_whole.h"
#include "io/pattern/shard_fields.h"

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
  const auto fields = detail::ShardFields::of(file);
  if (!fields || fields->number.size() < detail::kShardDigitsMin) return std::nullopt;
  if (!fields->behind.empty() && !fields->behind.starts_with('.')) return std::nullopt;
  ShardName name;
  if (!detail::parse_whole(fields->number, name.shard.index)) return std::nullopt;
  if (!detail::parse_whole(fields->count, name.shard.count)) return std::nullopt;
  if (name.shard.count == 0) return std::nullopt;
  name.prefix = fields->before.substr(0, fields->before.size() - 1);
  if (!fields->behind.empty()) name.extension = fields->behind.substr(1);
  return name;
}

}  // namespace infeed
