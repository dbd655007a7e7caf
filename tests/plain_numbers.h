#pragma once

#include <clocale>
#include <cstdlib>
#include <string>

namespace infeed::test {

inline locale_t plain_locale() {
  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  return plain;
}

/// Reads numbers as the C library does, with a point in every locale.
inline float float_of(const std::string& text) {
  return ::strtof_l(text.c_str(), nullptr, plain_locale());
}
inline double double_of(const std::string& text) {
  return ::strtod_l(text.c_str(), nullptr, plain_locale());
}

}  // namespace infeed::test
