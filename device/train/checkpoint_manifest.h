#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/device/training_checkpoint.h"

// The text that lists the contents of a training's checkpoint.

namespace infeed::detail {

struct CheckpointManifest {
  struct TextPlace {
    std::string name;
    std::uint64_t offset_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint32_t crc32c = 0;
  };

  std::uint64_t step = 0;
  std::vector<TrainingCheckpoint::TensorPlace> tensors = {};  ///< one behind the other
  std::vector<TextPlace> texts = {};                          ///< one behind the other

  std::uint64_t tensor_bytes() const;
  std::uint64_t text_bytes() const;

  std::string to_text() const;
  /// Throws data_loss or failed_precondition with `file` and, where it helps, the line.
  static CheckpointManifest from_text(std::string_view text, const std::string& file);
};

/// Returns "not a whole training checkpoint: ...; take an older one".
Error damaged_checkpoint(const std::string& file, std::string_view what);

}  // namespace infeed::detail
