#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/detail/parse_whole.h"
#include "infeed/error.h"
#include "infeed/records/training_checkpoint.h"

// The text that lists the contents of a training's checkpoint.

namespace infeed::detail {

/// Most bytes of a manifest. It has a line an entry, so larger files aren't ours.
inline constexpr std::uint64_t kManifestBytesMax = std::uint64_t{16} << 20;

struct CheckpointManifest {
  /// Version 1 held float32 alone, and its bytes were "texts".
  static constexpr int kVersion = 2;

  int version = kVersion;
  std::uint64_t step = 0;
  std::vector<TrainingCheckpoint::TensorPlace> tensors = {};  ///< one behind the other
  std::vector<TrainingCheckpoint::BytesPlace> bytes = {};     ///< one behind the other

  std::uint64_t tensor_bytes() const;
  std::uint64_t bytes_bytes() const;
  /// Name of the file with the bytes.
  std::string_view bytes_file() const { return version == 1 ? "texts" : "bytes"; }

  /// Writes the newest version.
  std::string to_text() const;
  /// Throws data_loss or failed_precondition with `file` and, where it helps, the line.
  static CheckpointManifest from_text(std::string_view text, const std::string& file);
};

std::uint64_t tensor_bytes_of(const TrainingCheckpoint::TensorPlace& place);

/// Returns "not a whole training checkpoint: ...; take an older one".
Error damaged_checkpoint(const std::string& file, std::string_view what);

}  // namespace infeed::detail
