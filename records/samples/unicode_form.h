#pragma once

#include <string>
#include <string_view>

namespace infeed::detail {

/// Returns the text with its letters and accents apart (Unicode's form NFD), for comparisons: a name
/// that macOS wrote and the same name from elsewhere have other bytes. Knows Latin, Greek, Cyrillic,
/// Kana and Hangul; other characters, and what isn't UTF-8, stay as they are.
std::string decomposed(std::string_view utf8);

}  // namespace infeed::detail
