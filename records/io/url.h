#pragma once

#include <string>
#include <string_view>

namespace infeed::detail {

/// Returns "https" for "https://host/path"; empty for a name that is no URL.
std::string_view url_scheme(std::string_view name);

enum class Slash { encode, keep };
/// Encodes as RFC 3986 and AWS want it: all but letters, digits, "-._~" (and the slash) as %XX.
std::string percent_encode(std::string_view text, Slash slash);
std::string percent_decode(std::string_view text);

}  // namespace infeed::detail
