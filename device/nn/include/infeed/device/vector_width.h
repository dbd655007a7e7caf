#pragma once

#include <cstdint>

/// Why: results are the same bits at every vector width; a test (or somebody who doubts it) chooses
/// one and compares.
///
///     const infeed::VectorWidth narrow = infeed::VectorWidth::bits_128;
///
/// A width that the CPU doesn't have becomes the widest below it.
namespace infeed {

enum class VectorWidth : std::uint8_t {
  widest,
  portable,  ///< std::fma, no instructions beyond the baseline's
  bits_128,
  bits_256,
  bits_512,
};

}  // namespace infeed
