#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Text of somebody else's, fit for one line of a message or a terminal.
namespace infeed::tools {

/// Bytes of the UTF-8 character that `text`, which isn't empty, begins with; 0 when it begins with
/// none.
std::size_t utf8_length(std::string_view text);

/// `text` with control characters and what is no UTF-8 as \xNN, cut to about `width` characters.
std::string printable(std::string_view text, int width);

}  // namespace infeed::tools
