#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace infeed::detail {

/// The fewest digits of a number in a shard's name.
inline constexpr std::size_t kShardDigitsMin = 5;

/// The parts of a name like train-00003-of-00016.tfrecord, or of a pattern of such names.
struct ShardFields {
  std::string_view before;  ///< up to the shard's number, with its dash
  std::string_view number;  ///< its digits, or what stands for them in a pattern
  std::string_view count;   ///< kShardDigitsMin digits or more
  std::string_view behind;  ///< all behind the count

  /// Returns the parts of the name, views of it; empty if the file is not named that way.
  static std::optional<ShardFields> of(std::string_view file);

  /// Returns the name that has this number in its place, in so many digits.
  std::string with_number(std::uint32_t shard, std::size_t digits) const;
};

}  // namespace infeed::detail
