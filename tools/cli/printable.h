#pragma once

#include <string>
#include <string_view>

/// Text from outside, made fit for one line of a message or a terminal.
namespace infeed::tools {

/// printable_text() (infeed/detail/printable_text.h), cut to about `width` characters.
std::string printable(std::string_view text, int width);

}  // namespace infeed::tools
