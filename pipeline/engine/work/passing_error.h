#pragma once

#include <cstdint>

#include <infeed/error.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/resume.h>

namespace infeed::detail {

/// True for an error of a server or a moment. Kept, it would be in the data's place long after the
/// trouble; left out, the data would be missing as long.
inline bool is_passing(const Error& error) {
  return error.code() == ErrorCode::unavailable || error.code() == ErrorCode::deadline_exceeded;
}

inline bool has_passing_error(const Chunk& chunk) {
  return chunk.has_error() && is_passing(*chunk.error());
}

/// Called for each error among elements that are passed over. Throws a terminal error if it may pass:
/// the rest of its file may be missing, so the elements behind it may not be those that other hosts
/// or an earlier run have at these places. Whoever begins anew finds the data whole.
void end_if_passing(const Error& error, Known known);

/// Passes over up to `count` elements of a chunk, its error included, as end_if_passing() says.
/// Returns how many there were.
std::uint64_t drop_slots(Chunk& in, std::uint64_t count, Known known);

}  // namespace infeed::detail
