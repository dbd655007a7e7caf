#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string_view>

#include <infeed/count.h>
#include <infeed/error.h>

/// The shared part of the sources that give batches of rows.
namespace infeed::detail {

/// Returns the size of a batch, or throws an error that names the source.
inline std::uint64_t checked_rows(std::string_view source, Count size) {
  if (size.value() >= 1) return size;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("{}: the size of a batch is {}; give 1 row or more", source, size.value()));
}

}  // namespace infeed::detail
