#include "train/train_pipelines.h"

#include <algorithm>
#include <cstring>

namespace infeed::tools {
namespace {

/// Maps features of a record to members.
ExampleSchema<Sample> sample_schema() {
  return ExampleSchema<Sample>().feature("image", &Sample::image).feature("label", &Sample::label);
}

/// Mean and standard deviation of Fashion-MNIST's training pixels, which are 0..255.
constexpr float kMean = 0.2860F * 255;
constexpr float kDeviation = 0.3530F * 255;

using Image = std::array<std::uint8_t, kPixels>;

Example normalised(const Image& image, std::int64_t label) {
  Example example;
  for (std::size_t i = 0; i < kPixels; ++i) {
    example.image[i] = bfloat16((static_cast<float>(image[i]) - kMean) * (1 / kDeviation));
  }
  example.label = static_cast<std::int32_t>(label);
  return example;
}

void mirror(Image& image) {
  for (std::size_t y = 0; y < kImageSide; ++y) {
    std::reverse(image.begin() + y * kImageSide, image.begin() + (y + 1) * kImageSide);
  }
}

constexpr std::size_t kShiftMax = 4;

/// Returns a window of the image's size at (top, left) of the image with a black border of
/// kShiftMax.
Image crop_of_padded(const Image& image, std::size_t top, std::size_t left) {
  constexpr std::size_t kPaddedSide = kImageSide + 2 * kShiftMax;
  std::array<std::uint8_t, kPaddedSide * kPaddedSide> padded{};
  for (std::size_t y = 0; y < kImageSide; ++y) {
    std::memcpy(&padded[(y + kShiftMax) * kPaddedSide + kShiftMax], &image[y * kImageSide],
                kImageSide);
  }
  Image crop;
  for (std::size_t y = 0; y < kImageSide; ++y) {
    std::memcpy(&crop[y * kImageSide], &padded[(y + top) * kPaddedSide + left], kImageSide);
  }
  return crop;
}

}  // namespace

Example augment(const Sample& sample, Rng& rng) {
  const std::size_t top = rng.below(2 * kShiftMax + 1);
  const std::size_t left = rng.below(2 * kShiftMax + 1);
  Image image = crop_of_padded(sample.image, top, left);
  if (rng.chance(0.5F)) mirror(image);
  return normalised(image, sample.label);
}

Example normalise(const Sample& sample) { return normalised(sample.image, sample.label); }

namespace {

Example augment_lightly(const Sample& sample, Rng& rng) {
  Image image = sample.image;
  if (rng.chance(0.5F)) mirror(image);
  return normalised(image, sample.label);
}

/// Reads one file after the other, or all of them side by side in separate threads.
Dataset<Record> read_shards(const std::vector<std::string>& shards, bool in_parallel,
                            int threads = autotune) {
  if (!in_parallel) return records(shards);
  return files(shards) | interleave([](const std::string& file) { return records(file); },
                                    {.cycle_length = 16, .parallelism = threads});
}

}  // namespace

/// A newcomer's argument of shuffle().
constexpr std::uint64_t kFeedingShuffleBuffer = 10'000;

Batches feeding_pipeline(const PipelineOptions& options, const Tricks& tricks) {
  const int cores = usable_cores();
  Dataset<Record> images = read_shards(options.shards, tricks.parallel_interleave,
                                       tricks.by_hand ? 2 * cores : autotune);
  if (tricks.cache) images = images | cache();
  // Records are shuffled before parsing: they are views, which cost little to move.
  const auto parsed_and_augmented = [schema = sample_schema()](const Record& record, Rng& rng) {
    return augment(schema.parse(record), rng);
  };
  Batches batches = images | shuffle({.buffer = kFeedingShuffleBuffer, .seed = options.seed}) |
                    repeat() |
                    map(parsed_and_augmented, {.parallelism = !tricks.parallel_map ? 1
                                                              : tricks.by_hand     ? cores
                                                                                   : autotune,
                                               .seed = options.seed}) |
                    batch(options.batch, {.drop_remainder = true});
  if (!tricks.prefetch) return batches;
  return batches | prefetch(tricks.by_hand ? 2 : autotune);
}

Batches training_pipeline(const PipelineOptions& options, const Tricks& tricks) {
  // 16 files take turns, with any number of threads: the order is part of what is learnt.
  Dataset<Sample> images =
      files(options.shards) |
      interleave([](const std::string& file) { return records(file); },
                 {.cycle_length = 16, .parallelism = tricks.parallel_interleave ? autotune : 1}) |
      parse<Sample>(sample_schema());
  if (tricks.cache) images = images | cache();
  const RowShare own = options.rows();
  const Batches batches =
      images | shuffle({.buffer = 60'000, .seed = options.seed}) | repeat() | own_rows(own) |
      map(augment_lightly,
          {.parallelism = tricks.parallel_map ? autotune : 1, .seed = options.seed}) |
      batch(own.rows, {.drop_remainder = true});
  return tricks.prefetch ? batches | prefetch() : batches;
}

Batches test_pipeline(const PipelineOptions& options) {
  return records(options.shards) | parse<Sample>(sample_schema()) | cache() | map(normalise) |
         batch(options.batch) | prefetch();
}

Dataset<ColumnBatch> columns_of(const Batches& batches) {
  return batches | map([](const Batch<Example>& batch) {
           return as_columns(batch, {"image", "label"});
         });
}

BatchSource batch_source(const Batches& batches, const IterateOptions& options) {
  return batch_source(std::make_shared<Iterator<Batch<Example>>>(batches.iterate(options)));
}

BatchSource batch_source(std::shared_ptr<Iterator<Batch<Example>>> iterator) {
  return {.next =
              [iterator](DeviceBatch& out) {
                std::optional<Batch<Example>> next = iterator->next();
                if (!next) return false;
                out = device_batch(as_columns(*next, {"image", "label"}));
                return true;
              },
          .cancel = [iterator] { iterator->cancel(); }};
}

}  // namespace infeed::tools
