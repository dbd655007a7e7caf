#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <infeed/image/decode.h>
#include <infeed/image/jitter.h>
#include <infeed/image/normalise.h>
#include <infeed/image/resize.h>
#include <infeed/pipeline/philox.h>

/// Why: makes a training step's image from a JPEG or PNG in one call, without images in between.
/// Only the crop is decoded, its rows are resized while they are in the cache, and the numbers are
/// written straight into the batch.
///
///     struct Picture { std::array<float, 224 * 224 * 3> pixels; };
///     infeed::slices(jpegs) | infeed::batch_into<Picture>(
///         128, [](const std::string& jpeg, const infeed::Row<Picture>& row, infeed::Rng& rng) {
///           infeed::image::random_resized_crop(jpeg, {.width = 224, .height = 224}, rng,
///                                              row.column(&Picture::pixels));
///         }, {.parallelism = infeed::autotune})
///
/// The values are bit for bit those of decode_crop(), resize(), flip(), adjust() and normalise() in
/// this order (but see Target::scaled_decoding), and the same on every processor.
///
/// Errors: those of decode.h; invalid_argument for a row of another size, a crop outside the image
/// or with a side over 65,536, and senseless options.
///
/// Memory: each thread keeps its working memory, so after the first images only libjpeg and libpng
/// allocate.
///
/// Thread-safety: functions of their arguments.
namespace infeed::image {

/// The result's size, colours and numbers. A row has height x width x channels values.
struct Target {
  std::size_t width = 224;
  std::size_t height = 224;
  Channels channels = Channels::rgb;  ///< or grey
  Filter filter = Filter::antialias;
  Normalisation normalisation = {};
  std::optional<std::array<std::uint8_t, 3>> background = std::nullopt;  ///< as in DecodeOptions
  /// Decodes a JPEG's crop at a half, a quarter or an eighth if it is many times larger than the
  /// target in both directions. That is up to twice as fast, and differs by less than 1 of 255 on
  /// average.
  bool scaled_decoding = true;
  DecodeLimits limits = {};
};

/// The ranges that random crops are drawn from.
struct RandomCrop {
  // The crop's share of the image's area, and its ratio of width to height, in the upright image.
  float area_min = 0.08F;
  float area_max = 1;
  float ratio_min = 3.0F / 4;
  float ratio_max = 4.0F / 3;
  float flip_probability = 0.5F;
  std::optional<ColourJitter> jitter = std::nullopt;
};

/// Resizes a crop of random area and ratio to the target, perhaps flips it and changes its colours:
/// torchvision's RandomResizedCrop, RandomHorizontalFlip and ColorJitter.
void random_resized_crop(std::string_view bytes, const Target& target, Rng& rng,
                         std::span<float> row, const RandomCrop& random = {});
void random_resized_crop(std::string_view bytes, const Target& target, Rng& rng,
                         std::span<bfloat16> row, const RandomCrop& random = {});
void random_resized_crop(std::string_view bytes, const Target& target, Rng& rng,
                         std::span<std::uint8_t> row, const RandomCrop& random = {});

/// Resizes the largest central crop of the target's ratio, both sides times `share`; for
/// evaluation. 0.875 equals a resize of the shorter side to 256 and a central crop of 224.
void central_crop(std::string_view bytes, const Target& target, std::span<float> row,
                  float share = 0.875F);
void central_crop(std::string_view bytes, const Target& target, std::span<bfloat16> row,
                  float share = 0.875F);
void central_crop(std::string_view bytes, const Target& target, std::span<std::uint8_t> row,
                  float share = 0.875F);

/// The changes to one image. draw() makes them at random.
struct Augmentation {
  Rect crop = {};  ///< part of the upright image
  bool flip = false;
  ColourFactors colours = {};
};

/// Draws as random_resized_crop() does. Up to ten times it draws an area, uniformly, and a ratio,
/// uniformly in its logarithm, until the crop fits; then its place. If none fits, it takes the
/// largest central crop with an allowed ratio.
Augmentation draw(Size upright, const RandomCrop& random, Rng& rng);

void resized_crop(std::string_view bytes, const Target& target, const Augmentation& augmentation,
                  std::span<float> row);
void resized_crop(std::string_view bytes, const Target& target, const Augmentation& augmentation,
                  std::span<bfloat16> row);
void resized_crop(std::string_view bytes, const Target& target, const Augmentation& augmentation,
                  std::span<std::uint8_t> row);

}  // namespace infeed::image
