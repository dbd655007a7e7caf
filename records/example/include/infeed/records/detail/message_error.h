#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

/// Errors of protobuf's parsers, which only say that they failed. Not meant to be used directly.
namespace infeed::detail {

/// The most bytes of a message that protobuf reads.
inline constexpr std::size_t kMessageBytesMax = std::numeric_limits<int>::max();

/// Throws data_loss: "40 bytes are no shop.Click: ..." names the field at which they break, where
/// it is one of the message's own.
[[noreturn]] void fail_message(std::string_view type, std::string_view bytes);
/// Throws invalid_argument for a message that lacks required fields ("id, user.name").
[[noreturn]] void fail_required(std::string_view type, std::string_view missing);

}  // namespace infeed::detail
