#pragma once

#include <string>

#include <infeed/device/model.h>
#include <infeed/device/optimizer.h>

/// Why: a trained model must survive the program: weights and Adam's state in one file that is
/// either whole or not there.
///
///     infeed::save_model_checkpoint("model.ckpt", trainer.model(), trainer.optimizer());
///     auto saved = infeed::load_model_checkpoint("model.ckpt");
///     trainer.restore(std::move(saved.model), std::move(saved.optimizer));  // goes on bit for bit
///
/// Format: a TFRecord file (so every part carries a CRC-32C and the usual tools list it).
/// - Record 0 is text, a line each, exactly in this order: "infeed.model:1"; "inputs 784"; for each
///   layer "layer UNITS linear|relu|softmax"; "adam STEPS LEARNING_RATE BETA_1 BETA_2 EPSILON"
///   (decimal, in the shortest form that reads back the same).
/// - Then, for each of DenseModel::tensors() in order, its float32 little-endian values, row-major.
/// - Then Adam's first moments, then the second ones, for all parameters in the same order.
///
/// Thread-safety: pure functions of the file system.
namespace infeed {

struct ModelCheckpoint {
  DenseModel model;
  Adam optimizer;
};

/// Replaces `file` when everything is on the disk (written under a temporary name, synced,
/// renamed). Errors as RecordWriter's.
void save_model_checkpoint(const std::string& file, const DenseModel& model, const Adam& optimizer);

/// Error not_found; data_loss: not such a file, damaged or cut, with what was found;
/// failed_precondition: written by a later version.
ModelCheckpoint load_model_checkpoint(const std::string& file);

}  // namespace infeed
