#include "infeed/image/resized_crop.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <infeed/error.h>

#include "image/batch_rows.h"
#include "image/image_rows.h"
#include "image/requirements.h"
#include "image/orientation.h"
#include "image/scratch.h"

namespace infeed::image {
namespace {

void require_sense(const Target& target) {
  const auto is_side = [](std::size_t side) { return side >= 1 && side <= kSideMax; };
  if (is_side(target.width) && is_side(target.height) &&
      (target.channels == Channels::rgb || target.channels == Channels::grey)) {
    return;
  }
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("a target of {} x {} with {} channels can't be written: sides of 1 to {} "
                  "and Channels::rgb or grey are expected",
                  target.width, target.height, static_cast<int>(target.channels), kSideMax));
}

/// How many times larger than the target a crop that is decoded at a fraction still is at least.
constexpr std::size_t kScaleMargin = 2;

unsigned denominator_for(const ImageReader& reader, const Rect& crop, Size target,
                         bool scaled_decoding) {
  unsigned denominator = 1;
  while (scaled_decoding && reader.is_jpeg() && denominator < 8 &&
         crop.width >= 2 * denominator * kScaleMargin * target.width &&
         crop.height >= 2 * denominator * kScaleMargin * target.height) {
    denominator *= 2;
  }
  return denominator;
}

bool changes(const ColourFactors& colours) {
  return colours.brightness != 1 || colours.contrast != 1 || colours.saturation != 1;
}

/// What was opened, to `row`.
template <class T>
void write_crop(Scratch& scratch, const Target& target, const Augmentation& augmentation,
                std::span<T> row) {
  ImageReader& reader = scratch.reader;
  const int orientation = reader.header().orientation;
  require_inside(augmentation.crop, upright_size(reader.size(), orientation));
  const Rect crop = stored_part(augmentation.crop, orientation, reader.size());
  const Size upright{target.width, target.height};
  const Size size = upright_size(upright, orientation);  // turning back is turning
  const auto channels = static_cast<std::size_t>(target.channels);
  const unsigned denominator = denominator_for(reader, crop, size, target.scaled_decoding);
  const ResizedLine across{crop.left, crop.width, denominator, size.width};
  const ResizedLine down{crop.top, crop.height, denominator, size.height};
  const Rect part{across.first_pixel(), down.first_pixel(), across.pixels(), down.pixels()};
  require_memory(reader.memory_bytes(), target.limits);

  const bool is_turned_in_rows = orientation <= 4;
  const bool is_bottom_up = orientation == 3 || orientation == 4;
  BatchRows<T> batch_rows(upright, channels, target.normalisation,
                          is_turned_in_rows && is_bottom_up && !changes(augmentation.colours), row);
  const auto read = [&](RowSink& sink, bool is_mirrored) {
    scratch.resampler.begin(across, down, channels, target.filter, sink);
    if (is_mirrored) scratch.resampler.mirror_rows();
    reader.read(part, denominator, channels, target.background, scratch.resampler);
  };
  if (is_turned_in_rows && !changes(augmentation.colours)) {
    const bool is_mirrored = orientation == 2 || orientation == 3;
    read(batch_rows, is_mirrored != augmentation.flip);
  } else {
    Image& image = scratch.image;
    ImageRows image_rows(size, channels, image);
    read(image_rows, false);
    turn_upright(image, orientation, scratch.turned);
    if (augmentation.flip) flip(image);
    adjust(image, augmentation.colours);
    for (std::size_t y = 0; y < image.height; ++y) batch_rows.take(image.row(y));
  }
  trim(scratch);
}

Size open(Scratch& scratch, std::string_view bytes, const Target& target) {
  require_sense(target);
  scratch.reader.open(bytes, target.limits, true);
  return upright_size(scratch.reader.size(), scratch.reader.header().orientation);
}

template <class T>
void crop_at_random(std::string_view bytes, const Target& target, Rng& rng, std::span<T> row,
                    const RandomCrop& random) {
  Scratch& scratch = thread_scratch();
  const Size size = open(scratch, bytes, target);
  write_crop(scratch, target, draw(size, random, rng), row);
}

template <class T>
void crop_centrally(std::string_view bytes, const Target& target, std::span<T> row, float share) {
  if (!(share > 0 && share <= 1)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("a central crop can't have a share of {}: over 0 to 1 is expected", share));
  }
  Scratch& scratch = thread_scratch();
  const Size size = open(scratch, bytes, target);
  // In integers, so that the largest crop touches the borders exactly.
  const std::size_t width = std::min(size.width, size.height * target.width / target.height);
  const std::size_t height = std::min(size.height, size.width * target.height / target.width);
  const auto shortened = [share](std::size_t side) {
    return std::max<std::size_t>(
        1, static_cast<std::size_t>(std::lround(static_cast<float>(side) * share)));
  };
  Augmentation central;
  central.crop.width = shortened(width);
  central.crop.height = shortened(height);
  central.crop.left = (size.width - central.crop.width) / 2;
  central.crop.top = (size.height - central.crop.height) / 2;
  write_crop(scratch, target, central, row);
}

template <class T>
void crop_as_said(std::string_view bytes, const Target& target, const Augmentation& augmentation,
                  std::span<T> row) {
  Scratch& scratch = thread_scratch();
  open(scratch, bytes, target);
  write_crop(scratch, target, augmentation, row);
}

}  // namespace

void random_resized_crop(std::string_view bytes, const Target& target, Rng& rng,
                         std::span<float> row, const RandomCrop& random) {
  crop_at_random(bytes, target, rng, row, random);
}
void random_resized_crop(std::string_view bytes, const Target& target, Rng& rng,
                         std::span<bfloat16> row, const RandomCrop& random) {
  crop_at_random(bytes, target, rng, row, random);
}
void random_resized_crop(std::string_view bytes, const Target& target, Rng& rng,
                         std::span<std::uint8_t> row, const RandomCrop& random) {
  crop_at_random(bytes, target, rng, row, random);
}

void central_crop(std::string_view bytes, const Target& target, std::span<float> row, float share) {
  crop_centrally(bytes, target, row, share);
}
void central_crop(std::string_view bytes, const Target& target, std::span<bfloat16> row,
                  float share) {
  crop_centrally(bytes, target, row, share);
}
void central_crop(std::string_view bytes, const Target& target, std::span<std::uint8_t> row,
                  float share) {
  crop_centrally(bytes, target, row, share);
}

void resized_crop(std::string_view bytes, const Target& target, const Augmentation& augmentation,
                  std::span<float> row) {
  crop_as_said(bytes, target, augmentation, row);
}
void resized_crop(std::string_view bytes, const Target& target, const Augmentation& augmentation,
                  std::span<bfloat16> row) {
  crop_as_said(bytes, target, augmentation, row);
}
void resized_crop(std::string_view bytes, const Target& target, const Augmentation& augmentation,
                  std::span<std::uint8_t> row) {
  crop_as_said(bytes, target, augmentation, row);
}

}  // namespace infeed::image
