#pragma once

#include <cstdint>
#include <string_view>

#include <infeed/error.h>

namespace infeed::detail {

/// Returns the bytes that a kept error takes, for the memory account. Whoever keeps several counts
/// them by this function: an error takes more memory than most elements.
inline std::uint64_t bytes_when_kept(const Error& error) {
  // The text repeats what the error's other members say.
  const std::uint64_t bytes = sizeof(Error) + 2 * std::string_view(error.what()).size();
  if (error.cause() == nullptr) return bytes;
  // The C++ runtime's header of an exception, the exception, and the header of its text.
  constexpr std::uint64_t kCauseBytes = 192;
  return bytes + kCauseBytes + error.message().size();
}

}  // namespace infeed::detail
