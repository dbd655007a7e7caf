#include "infeed/image/jitter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include "image/requirements.h"

namespace infeed::image {
namespace {

constexpr float kJitterMax = 8;
constexpr std::int64_t kOne = 1 << 16;

std::int64_t fixed(float factor, const char* name) {
  if (factor >= 0 && factor <= 1 + kJitterMax) {
    return static_cast<std::int64_t>(std::lround(factor * static_cast<float>(kOne)));
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} can't be multiplied by {}: 0 to {} is expected", name, factor,
                          1 + kJitterMax));
}

float drawn(float jitter, const char* name, Rng& rng) {
  if (!(jitter >= 0 && jitter <= kJitterMax)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("ColourJitter::{} is {}: 0 to {} is "
                                                         "expected",
                                                         name, jitter, kJitterMax));
  }
  return rng.uniform(std::max(0.0F, 1 - jitter), 1 + jitter);
}

/// Returns middle + (value - middle) * factor, rounded and clamped to a byte.
std::uint8_t moved(std::int64_t value, std::int64_t middle, std::int64_t factor) {
  const std::int64_t sum = middle * kOne + (value - middle) * factor + kOne / 2;
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> 16, 0, 255));
}

using Table = std::array<std::uint8_t, 256>;

Table table_of(std::int64_t middle, std::int64_t factor) {
  Table table;
  for (std::size_t i = 0; i < table.size(); ++i) {
    table.at(i) = moved(static_cast<std::int64_t>(i), middle, factor);
  }
  return table;
}

/// The colour channels of an image; a grey image has one.
struct Colours {
  explicit Colours(Image& image)
      : pixels(image.pixels.data()),
        count(image.width * image.height),
        step(image.channels),
        channels(image.channels >= 3 ? 3 : 1) {}

  template <class F>
  void for_each(F function) const {
    for (std::size_t i = 0; i < count; ++i) function(pixels + i * step);
  }
  std::uint8_t grey(const std::uint8_t* pixel) const {
    return channels == 1 ? *pixel : grey_of(pixel);
  }
  void look_up(const Table& table) const {
    for_each([&](std::uint8_t* pixel) {
      for (std::size_t c = 0; c < channels; ++c) pixel[c] = table[pixel[c]];
    });
  }

  std::uint8_t* pixels;
  std::size_t count;
  std::size_t step;
  std::size_t channels;
};

}  // namespace

ColourFactors draw(const ColourJitter& jitter, Rng& rng) {
  ColourFactors factors;
  factors.brightness = drawn(jitter.brightness, "brightness", rng);
  factors.contrast = drawn(jitter.contrast, "contrast", rng);
  factors.saturation = drawn(jitter.saturation, "saturation", rng);
  return factors;
}

void adjust(Image& image, const ColourFactors& factors) {
  const std::int64_t brightness = fixed(factors.brightness, "brightness");
  const std::int64_t contrast = fixed(factors.contrast, "contrast");
  const std::int64_t saturation = fixed(factors.saturation, "saturation");
  require_whole(image);
  const Colours colours(image);
  if (brightness != kOne) colours.look_up(table_of(0, brightness));
  if (contrast != kOne && colours.count > 0) {
    std::uint64_t sum = 0;
    colours.for_each([&](const std::uint8_t* pixel) { sum += colours.grey(pixel); });
    const std::uint64_t mean = (sum + colours.count / 2) / colours.count;
    colours.look_up(table_of(static_cast<std::int64_t>(mean), contrast));
  }
  if (saturation != kOne && colours.channels == 3) {
    colours.for_each([&](std::uint8_t* pixel) {
      const std::int64_t grey = grey_of(pixel);
      for (std::size_t c = 0; c < 3; ++c) pixel[c] = moved(pixel[c], grey, saturation);
    });
  }
}

}  // namespace infeed::image
