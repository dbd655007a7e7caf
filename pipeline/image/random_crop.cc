#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/image/resized_crop.h>

namespace infeed::image {
namespace {

void require_sense(const RandomCrop& random) {
  const bool has_area =
      random.area_min > 0 && random.area_min <= random.area_max && random.area_max <= 1;
  const bool has_ratio = random.ratio_min > 0 && random.ratio_min <= random.ratio_max &&
                         std::isfinite(random.ratio_max);
  const bool has_flip = random.flip_probability >= 0 && random.flip_probability <= 1;
  if (has_area && has_ratio && has_flip) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("no crop can be drawn with areas of {} to {}, ratios of {} to {} and flips of "
                  "{}: areas are parts of 1, minima not over maxima, a probability 0 to 1",
                  random.area_min, random.area_max, random.ratio_min, random.ratio_max,
                  random.flip_probability));
}

Rect central(Size size, double width, double height) {
  Rect crop;
  crop.width = std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(width)), 1, size.width);
  crop.height =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(height)), 1, size.height);
  crop.left = (size.width - crop.width) / 2;
  crop.top = (size.height - crop.height) / 2;
  return crop;
}

Rect draw_crop(Size size, const RandomCrop& random, Rng& rng) {
  constexpr int kAttempts = 10;
  const auto width = static_cast<double>(size.width);
  const auto height = static_cast<double>(size.height);
  const double log_min = std::log(double{random.ratio_min});
  const double log_max = std::log(double{random.ratio_max});
  for (int i = 0; i < kAttempts; ++i) {
    const double area = width * height * double{rng.uniform(random.area_min, random.area_max)};
    const double ratio = std::exp(log_min + (log_max - log_min) * double{rng.uniform()});
    const auto crop_width = static_cast<std::size_t>(std::lround(std::sqrt(area * ratio)));
    const auto crop_height = static_cast<std::size_t>(std::lround(std::sqrt(area / ratio)));
    if (crop_width < 1 || crop_height < 1 || crop_width > size.width || crop_height > size.height) {
      continue;
    }
    const auto left = rng.below(static_cast<std::uint32_t>(size.width - crop_width + 1));
    const auto top = rng.below(static_cast<std::uint32_t>(size.height - crop_height + 1));
    return {left, top, crop_width, crop_height};
  }
  const double ratio = width / height;
  if (ratio < double{random.ratio_min}) return central(size, width, width / random.ratio_min);
  if (ratio > double{random.ratio_max}) return central(size, height * random.ratio_max, height);
  return central(size, width, height);
}

}  // namespace

Augmentation draw(Size upright, const RandomCrop& random, Rng& rng) {
  require_sense(random);
  Augmentation augmentation;
  augmentation.crop = draw_crop(upright, random, rng);
  augmentation.flip = rng.chance(random.flip_probability);
  if (random.jitter) augmentation.colours = draw(*random.jitter, rng);
  return augmentation;
}

}  // namespace infeed::image
