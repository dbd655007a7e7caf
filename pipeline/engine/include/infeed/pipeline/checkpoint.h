#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>

/// Why: a training run must go on after a crash exactly where it was: no element twice, none left
/// out. Order is a pure function of seeds and position, so a checkpoint is a position, not a copy
/// of buffers: under a kilobyte, text that a person can read, compare and edit.
///
/// ```text
///     infeed-checkpoint 1
///     position 61440
///     epoch 0
///     errors 0
///     stage range(0, 100000)
///     stage shuffle(buffer=10000, seed=42, seed2=0)
///     stage batch(128)
///     checksum 1a2b3c4d
/// ```
///
/// It counts what the consumer took, not what was read ahead. The checksum is that of the lines before;
/// whoever edits them takes it out, and texts without one are read as they are.
namespace infeed {

struct Checkpoint {
  std::uint64_t position = 0;  ///< elements that the consumer took, errors included
  std::uint64_t epoch = 0;     ///< of the iterator: how often the dataset was iterated before
  /// Errors that were seen anywhere so far; if there are any, the resume looks at each element.
  std::uint64_t errors = 0;
  std::uint64_t order_hash = 0;  ///< of what was taken, where that was asked for; order_hash.h
  std::vector<std::string> signature;  ///< of the stages, from the sources on

  std::string to_text() const;
  /// Throws Error(invalid_argument) that names the line.
  static Checkpoint from_text(std::string_view text);

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

}  // namespace infeed
