#pragma once

#include <infeed/error.h>
#include <infeed/pipeline/chunk.h>

namespace infeed::detail {

/// True if the chunk has an error of a server or a moment. Kept, it would be in the data's place long
/// after the trouble.
inline bool has_passing_error(const Chunk& chunk) {
  if (!chunk.has_error()) return false;
  const ErrorCode code = chunk.error()->code();
  return code == ErrorCode::unavailable || code == ErrorCode::deadline_exceeded;
}

}  // namespace infeed::detail
