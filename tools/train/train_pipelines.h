#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <infeed/device/device_batch.h>
#include <infeed/infeed.h>

/// Why: these are the pipelines of `infeed train`, and an example of how pipelines are written:
/// from record shards to batches for a TPU. Start reading at train_pipelines.cc.
namespace infeed::tools {

inline constexpr std::size_t kImageSide = 28;
inline constexpr std::size_t kPixels = kImageSide * kImageSide;

/// What the records hold.
struct Sample {
  std::array<std::uint8_t, kPixels> image;
  std::int64_t label;
};

/// What the device takes.
struct Example {
  std::array<bfloat16, kPixels> image;
  std::int32_t label;
};

using Batches = Dataset<Batch<Example>>;

/// The tricks of a fast input pipeline. Without any it is the one that a newcomer writes.
struct Tricks {
  bool parallel_interleave = false;
  bool parallel_map = false;
  bool cache = false;
  bool prefetch = false;
  /// Numbers of threads and a depth that somebody has tried out, in place of autotune.
  bool by_hand = false;

  static constexpr Tricks all() { return {true, true, true, true}; }
  static constexpr Tricks all_by_hand() { return {true, true, true, true, true}; }
};

struct PipelineOptions {
  std::vector<std::string> shards;
  std::uint64_t seed = 0;
  std::int64_t batch = 1024;
};

/// Shifted by up to 4 pixels in each direction, mirrored half of the time, normalised.
Example augment(const Sample& sample, Rng& rng);
/// Only normalised.
Example normalise(const Sample& sample);

/// Endless batches of shuffled and augmented images, for measuring. Whatever the tricks, the same work
/// is done to each image.
Batches feeding_pipeline(const PipelineOptions& options, const Tricks& tricks);
/// Endless batches to train on: another order each pass, mirrored images. The same whatever the tricks.
Batches training_pipeline(const PipelineOptions& options, const Tricks& tricks = Tricks::all());
/// All images once, as they are, the last batch short.
Batches test_pipeline(const PipelineOptions& options);

/// The same batches as columns "image" and "label"; nothing is copied.
Dataset<ColumnBatch> columns_of(const Batches& batches);

/// The device's view of an iteration of `batches`; nothing is copied.
BatchSource batch_source(const Batches& batches, const IterateOptions& options = {});
/// For those who ask the iterator for more.
BatchSource batch_source(std::shared_ptr<Iterator<Batch<Example>>> iterator);

}  // namespace infeed::tools
