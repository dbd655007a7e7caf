#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infeed/device/device_batch.h>
#include <infeed/infeed.h>
#include <infeed/share.h>

/// Why: these are the pipelines of `infeed train`, and an example of how pipelines are written:
/// from record shards to batches for a TPU. Start reading at train_pipelines.cc.
namespace infeed::tools {

inline constexpr std::size_t kImageSide = 28;
inline constexpr std::size_t kPixels = kImageSide * kImageSide;

/// The content of a record.
struct Sample {
  std::array<std::uint8_t, kPixels> image;
  std::int64_t label;
};

/// The input of the device.
struct Example {
  std::array<bfloat16, kPixels> image;
  std::int32_t label;
};

using Batches = Dataset<Batch<Example>>;

/// The tricks of a fast input pipeline. Without any it is a newcomer's.
struct Tricks {
  bool parallel_interleave = false;
  bool parallel_map = false;
  bool cache = false;
  bool prefetch = false;
  /// Takes tested numbers of threads and a tested depth instead of autotune.
  bool by_hand = false;

  static constexpr Tricks all() { return {true, true, true, true}; }
  static constexpr Tricks all_by_hand() { return {true, true, true, true, true}; }
};

struct PipelineOptions {
  std::vector<std::string> shards;
  std::uint64_t seed = 0;
  std::int64_t batch = 1024;
  /// The rows of each batch that a training's pipeline makes; not given: all.
  std::optional<RowShare> own = std::nullopt;

  RowShare rows() const { return own.value_or(RowShare{.batch = batch, .rows = batch}); }
};

/// Shifts by up to 4 pixels in each direction, mirrors half of the images, and normalises.
Example augment(const Sample& sample, Rng& rng);
/// Only normalises.
Example normalise(const Sample& sample);

/// Returns endless batches of shuffled and augmented images, for measuring. The work for each image
/// is the same whatever the tricks.
Batches feeding_pipeline(const PipelineOptions& options, const Tricks& tricks);
/// Returns endless batches to train on: another order each pass, mirrored images. The same whatever
/// the tricks. A rank that makes its own rows also reads, parses and shuffles the others' images:
/// which of them are its own follows from the shuffle. What comes behind that is done for its own.
Batches training_pipeline(const PipelineOptions& options, const Tricks& tricks = Tricks::all());
/// Returns all images once, unchanged; the last batch is short.
Batches test_pipeline(const PipelineOptions& options);

/// Returns the same batches as columns "image" and "label"; nothing is copied.
Dataset<ColumnBatch> columns_of(const Batches& batches);

/// Returns an iteration of `batches` for the device; nothing is copied.
BatchSource batch_source(const Batches& batches, const IterateOptions& options = {});
/// For callers that need the iterator, too.
BatchSource batch_source(std::shared_ptr<Iterator<Batch<Example>>> iterator);

}  // namespace infeed::tools
