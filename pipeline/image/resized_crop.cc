#include "infeed/image/resized_crop.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <infeed/error.h>

#include "image/batch_rows.h"
#include "image/image_rows.h"
#include "image/orientation.h"
#include "image/requirements.h"
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

/// A PNG may be larger than plan_resize() can count.
void require_sides(const Rect& crop) {
  if (std::max(crop.width, crop.height) <= kSideMax) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the crop of {} x {} can't be resized: each side must be 1 to {}",
                          crop.width, crop.height, kSideMax));
}

/// A crop that is decoded at a fraction stays at least this many times larger than the target.
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

/// Returns where an axis of a decoded part lies when the image is turned by half.
ResizedLine reversed(ResizedLine line) {
  line.begin = line.end_pixel() * line.pitch - line.begin - line.length;
  return line;
}

/// Returns the same line without the pixels before the first one.
ResizedLine from_first_pixel(ResizedLine line) {
  line.begin -= line.first_pixel() * line.pitch;
  return line;
}

/// Resizes an opened image to the target's pixels, in bytes.
class CropResize {
 public:
  CropResize(Scratch& scratch, const Target& target, const Augmentation& augmentation)
      : scratch_(scratch),
        target_(target),
        flip_(augmentation.flip),
        orientation_(scratch.reader.header().orientation),
        channels_(static_cast<std::size_t>(target.channels)) {
    const ImageReader& reader = scratch.reader;
    require_inside(augmentation.crop, upright_size(reader.size(), orientation_));
    require_sides(augmentation.crop);
    const Rect crop = stored_part(augmentation.crop, orientation_, reader.size());
    // Turning back and turning exchange the sides alike.
    const Size size = upright_size({target.width, target.height}, orientation_);
    denominator_ = denominator_for(reader, crop, size, target.scaled_decoding);
    across_ = {crop.left, crop.width, denominator_, size.width};
    down_ = {crop.top, crop.height, denominator_, size.height};
    part_ = {across_.first_pixel(), down_.first_pixel(), across_.pixels(), down_.pixels()};
    const std::uint64_t whole =
        is_sideways(orientation_) ? std::uint64_t{2} * part_.width * part_.height * channels_ : 0;
    require_memory(reader.memory_bytes() + whole, target.limits);
  }

  /// Returns true if the rows come from the bottom.
  bool is_bottom_up() const { return orientation_ == 3 || orientation_ == 4; }

  void run(RowSink& sink) {
    if (is_sideways(orientation_)) {
      run_sideways(sink);
      return;
    }
    const bool is_mirrored = orientation_ == 2 || orientation_ == 3;
    scratch_.resampler.begin(across_, down_, channels_, target_.filter, sink);
    if (is_mirrored != flip_) scratch_.resampler.mirror_rows();
    read(scratch_.resampler);
  }

 private:
  void read(RowSink& sink) {
    scratch_.reader.read(part_, denominator_, channels_, target_.background, sink);
  }

  /// Turns before it resizes. The first of two resize directions rounds, so the other order would
  /// give slightly different pixels.
  void run_sideways(RowSink& sink) {
    ImageRows rows({part_.width, part_.height}, channels_, scratch_.image);
    read(rows);
    turn_upright(scratch_.image, orientation_, scratch_.turned);
    ResizedLine across = from_first_pixel(down_);
    ResizedLine down = from_first_pixel(across_);
    if (orientation_ == 6 || orientation_ == 7) across = reversed(across);
    if (orientation_ == 7 || orientation_ == 8) down = reversed(down);
    scratch_.resampler.begin(across, down, channels_, target_.filter, sink);
    if (flip_) scratch_.resampler.mirror_rows();
    scratch_.resampler.take_all(scratch_.image);
  }

  Scratch& scratch_;
  const Target& target_;
  const bool flip_;
  const int orientation_;
  const std::size_t channels_;
  unsigned denominator_ = 1;
  ResizedLine across_;
  ResizedLine down_;
  Rect part_;
};

template <class T>
void write_crop(Scratch& scratch, const Target& target, const Augmentation& augmentation,
                std::span<T> row) {
  CropResize crop(scratch, target, augmentation);
  const Size size{target.width, target.height};
  const auto channels = static_cast<std::size_t>(target.channels);
  BatchRows<T> batch_rows(size, channels, target.normalisation, crop.is_bottom_up(), row);
  if (changes(augmentation.colours)) {
    ImageRows rows(size, channels, scratch.resized);
    crop.run(rows);
    adjust(scratch.resized, augmentation.colours);
    for (std::size_t y = 0; y < size.height; ++y) batch_rows.take(scratch.resized.row(y));
  } else {
    crop.run(batch_rows);
  }
}

Size open(Scratch& scratch, std::string_view bytes, const Target& target) {
  require_sense(target);
  scratch.reader.open(bytes, target.limits, true);
  return upright_size(scratch.reader.size(), scratch.reader.header().orientation);
}

template <class T>
void crop_at_random(std::string_view bytes, const Target& target, Rng& rng, std::span<T> row,
                    const RandomCrop& random) {
  const auto scratch = thread_scratch();
  const Size size = open(*scratch, bytes, target);
  write_crop(*scratch, target, draw(size, random, rng), row);
}

template <class T>
void crop_centrally(std::string_view bytes, const Target& target, std::span<T> row, float share) {
  if (!(share > 0 && share <= 1)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("a central crop can't have a share of {}: over 0 to 1 is expected", share));
  }
  const auto scratch = thread_scratch();
  const Size size = open(*scratch, bytes, target);
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
  write_crop(*scratch, target, central, row);
}

template <class T>
void crop_as_said(std::string_view bytes, const Target& target, const Augmentation& augmentation,
                  std::span<T> row) {
  const auto scratch = thread_scratch();
  open(*scratch, bytes, target);
  write_crop(*scratch, target, augmentation, row);
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
