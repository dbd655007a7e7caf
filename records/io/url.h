#pragma once

#include <string>
#include <string_view>

namespace infeed::detail {

/// "https" of "https://host/path"; empty when it is no URL.
std::string_view url_scheme(std::string_view name);

enum class Slash { encode, keep };
/// RFC 3986, as AWS wants it: all but letters, digits, "-._~" (and the slash) as %XX.
std::string percent_encode(std::string_view text, Slash slash);
std::string percent_decode(std::string_view text);

}  // namespace infeed::detail
