#pragma once

#include <cstdint>

/// Why: results are the same bits at every vector width. A test, or a user in doubt, chooses one
/// and compares.
///
///     const infeed::VectorWidth narrow = infeed::VectorWidth::bits_128;
///
/// If the CPU doesn't have a width, the next narrower one that it has is used.
namespace infeed {

enum class VectorWidth : std::uint8_t {
  widest,
  portable,  ///< std::fma, no instructions beyond the baseline's
  bits_128,
  bits_256,
  bits_512,
};

}  // namespace infeed
