#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/device/variable.h>
#include <infeed/records/output_file.h>
#include <infeed/records/tensor.h>

/// Why: a killed training goes on with pipeline, model, optimiser and callbacks at one and the same
/// step; separate files may come from different steps.
///
///     infeed::Scope scope({.seed = 42});  // of the model and its optimiser
///     infeed::TrainingState state = infeed::state_of(1'234, scope.variables());
///     state.texts.push_back({"pipeline", checkpoint.to_text()});
///     infeed::save_training_checkpoint("run/checkpoints", state, {.keep = 3});
///
///     if (auto found = infeed::latest_training_checkpoint("run/checkpoints")) {
///       const auto saved = infeed::TrainingCheckpoint::open(*found);
///       saved.restore(scope.variables());
///       checkpoint = infeed::Checkpoint::from_text(saved.text("pipeline"));
///     }
///
/// A checkpoint is a folder `step-0000001234` of three files: `manifest` (text: the list of
/// contents with their places and CRC-32C, and a checksum of its own), `tensors` (float32,
/// little-endian, row by row, one behind the other) and `texts`. It is written as
/// `.step-0000001234.partial`, synced, and renamed, so that it is complete or absent.
/// device/README.md describes the manifest's lines.
///
/// Errors: data_loss, with the file, for damaged or cut files; failed_precondition for the
/// checkpoint of another model (with the tensors that differ) or a later version, or when another
/// process writes into the same folder; not_found; errors of writing files. Nothing is allocated
/// that a file's size doesn't cover.
/// Thread-safety: functions as the file system's; any threads may read a TrainingCheckpoint.
namespace infeed {

struct NamedTensor {
  std::string name;
  Tensor tensor;  ///< float32
};
struct NamedText {
  std::string name;
  std::string text;  ///< any bytes
};

struct TrainingState {
  std::uint64_t step = 0;  ///< names the folder
  std::vector<NamedTensor> tensors = {};
  std::vector<NamedText> texts = {};
};

/// Returns the current values of the variables, under their names.
TrainingState state_of(std::uint64_t step, const std::vector<Variable>& variables);

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
    Shape shape;
    std::uint64_t offset_bytes = 0;
    std::uint32_t crc32c = 0;
  };

  /// Reads manifest and texts; tensors are read by read().
  static TrainingCheckpoint open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  std::uint64_t step() const { return step_; }
  const std::vector<TensorPlace>& tensors() const { return tensors_; }
  const std::vector<NamedText>& texts() const { return texts_; }
  /// Throws failed_precondition if there is none of that name.
  const std::string& text(std::string_view name) const;
  const std::string* find_text(std::string_view name) const;
  const TensorPlace* find(std::string_view name) const;
  Tensor read(const TensorPlace& place) const;

  /// Sets all the variables, or none: each needs a tensor of its name and shape. Other tensors must
  /// not exist, except those whose names begin with one of `except`.
  void restore(const std::vector<Variable>& variables,
               std::span<const std::string_view> except = {}) const;

 private:
  std::string folder_;
  std::uint64_t step_ = 0;
  std::vector<TensorPlace> tensors_;
  std::vector<NamedText> texts_;
};

}  // namespace infeed
