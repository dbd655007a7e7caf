#pragma once

#include <infeed/error.h>
#include <infeed/pipeline/chunk.h>

namespace infeed::detail {

/// True for an error of a server or a moment. Kept, it would be in the data's place long after the
/// trouble; left out, the data would be missing as long.
inline bool is_passing(const Error& error) {
  return error.code() == ErrorCode::unavailable || error.code() == ErrorCode::deadline_exceeded;
}

inline bool has_passing_error(const Chunk& chunk) {
  return chunk.has_error() && is_passing(*chunk.error());
}

}  // namespace infeed::detail
