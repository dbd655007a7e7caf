#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/output_file.h"
#include "infeed/records/tensor.h"

/// Why: a killed training goes on with pipeline, model and optimiser at one and the same step;
/// separate files may come from different steps.
///
///     infeed::TrainingState state{.step = 1'234};
///     state.tensors.push_back({"dense/kernel", weights});          // a Tensor of any type and shape
///     state.bytes.push_back({"optimiser", optimiser_bytes});       // any bytes
///     state.bytes.push_back({"pipeline", checkpoint.to_text()});   // Iterator::checkpoint()
///     infeed::save_training_checkpoint("run/checkpoints", state, {.keep = 3});
///
///     if (const auto found = infeed::latest_training_checkpoint("run/checkpoints")) {
///       const auto saved = infeed::TrainingCheckpoint::open(*found);
///       weights = saved.tensor("dense/kernel", infeed::DType::float32, {784, 10});
///       optimiser_bytes = saved.bytes("optimiser");
///       checkpoint = infeed::Checkpoint::from_text(saved.bytes("pipeline"));
///     }
///
/// Memory of another library comes in without a copy by Tensor::adopt(). README.md has a training
/// with libtorch.
///
/// A checkpoint is a folder `step-0000001234` of three files: `manifest` (text: the list of
/// contents with their places and CRC-32C, and a checksum of its own), `tensors` (little-endian,
/// row by row, one behind the other) and `bytes`. It is written as `.step-0000001234.partial`,
/// synced, and renamed, so that after a kill it is there whole or not at all.
/// records/training_checkpoint_format.md describes the manifest's lines.
///
/// Errors name the file, and the entry: data_loss for damaged or cut files; failed_precondition for
/// an entry that is missing or has another type or shape, for a later version, or when another
/// process writes into the same folder; invalid_argument for names that are empty, have line
/// breaks, come twice or take over 16 MiB; not_found; errors of writing files. Nothing is allocated that a file's
/// size doesn't cover.
/// Thread-safety: functions as the file system's; any threads may read a TrainingCheckpoint.
namespace infeed {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};
struct NamedBytes {
  std::string name;
  std::string bytes;
};

struct TrainingState {
  std::uint64_t step = 0;  ///< names the folder
  std::vector<NamedTensor> tensors = {};
  std::vector<NamedBytes> bytes = {};
};

struct SaveOptions {
  /// Number of newest checkpoints that stay, this one included; at least 1.
  std::size_t keep = 3;
  Durability durability = Durability::synced;
};

/// Returns the folder that was written below `folder`, which is made if need be. A checkpoint of
/// the same step is replaced.
std::string save_training_checkpoint(const std::string& folder, const TrainingState& state,
                                     SaveOptions options = {});

/// Returns the checkpoints in `folder`, the oldest first; none if the folder doesn't exist.
std::vector<std::string> training_checkpoints(const std::string& folder);
/// Returns the newest checkpoint.
std::optional<std::string> latest_training_checkpoint(const std::string& folder);

class TrainingCheckpoint {
 public:
  struct TensorPlace {
    std::string name;
    DType dtype = DType::float32;
    Shape shape;
    std::uint64_t offset_bytes = 0;
    std::uint32_t crc32c = 0;
  };
  struct BytesPlace {
    std::string name;
    std::uint64_t offset_bytes = 0;
    std::uint64_t size_bytes = 0;
    std::uint32_t crc32c = 0;
  };

  /// Reads the manifest, and compares the files' sizes with it.
  static TrainingCheckpoint open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  std::uint64_t step() const { return step_; }
  const std::vector<TensorPlace>& tensors() const { return tensors_; }
  const std::vector<BytesPlace>& bytes() const { return bytes_; }

  /// Reads a tensor, which must have this type and shape.
  Tensor tensor(std::string_view name, DType dtype, const Shape& shape) const;
  /// Reads a tensor of any type and shape.
  Tensor tensor(std::string_view name) const;
  std::string bytes(std::string_view name) const;

  /// Return null if there is none of that name.
  const TensorPlace* find_tensor(std::string_view name) const;
  const BytesPlace* find_bytes(std::string_view name) const;
  Tensor read(const TensorPlace& place) const;
  std::string read(const BytesPlace& place) const;

 private:
  const TensorPlace& place_of(std::string_view name) const;

  std::string folder_;
  std::string bytes_file_;
  std::uint64_t step_ = 0;
  std::vector<TensorPlace> tensors_;
  std::vector<BytesPlace> bytes_;
};

}  // namespace infeed
