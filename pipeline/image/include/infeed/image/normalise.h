#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <infeed/error.h>
#include <infeed/image/image.h>
#include <infeed/records/bfloat16.h>

/// Why: this is the last step of an image into a batch. Its bytes become numbers around 0, with the
/// axes in the order of the network, and are written to their final place.
///
///     std::vector<float> row(224 * 224 * 3);
///     const auto image = infeed::image::resize(infeed::image::decode(jpegs[0]), {224, 224});
///     infeed::image::normalise(image, {.layout = infeed::image::Layout::nchw}, row);
///
/// Every processor gives the same bits. Throws invalid_argument if the row has another size than
/// the image, and for means that aren't finite and deviations that aren't finite and above 0.
/// Thread-safety: functions of their arguments.
namespace infeed::image {

/// The order of a batch's axes: images, height, width, channels, or channels before height.
enum class Layout : std::uint8_t { nhwc, nchw };

struct Normalisation {
  Layout layout = Layout::nhwc;
  // Normalises channel values between 0 and 1: (value / 255 - mean) / deviation. The defaults are
  // those of ImageNet; mean 0 and deviation 1 give 0 to 1. Grey uses the first of each.
  std::array<float, 3> mean = {0.485F, 0.456F, 0.406F};
  std::array<float, 3> deviation = {0.229F, 0.224F, 0.225F};
};

/// For images of 1 or 3 channels.
void normalise(const Image& image, const Normalisation& how, std::span<float> row);
/// Rounds to nearest, ties to even.
void normalise(const Image& image, const Normalisation& how, std::span<bfloat16> row);
/// Copies the bytes without mean and deviation, which a device may apply more cheaply.
void normalise(const Image& image, const Normalisation& how, std::span<std::uint8_t> row);

}  // namespace infeed::image
