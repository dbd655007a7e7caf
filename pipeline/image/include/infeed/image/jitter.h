#pragma once

#include <infeed/error.h>
#include <infeed/image/image.h>
#include <infeed/pipeline/philox.h>

/// Why: the colours of a photograph depend on the light and the camera; changing them a little at
/// random teaches a network not to. In fixed-point arithmetic: the same bytes on every processor.
///
///     infeed::map([](infeed::image::Image image, infeed::Rng& rng) {
///       infeed::image::adjust(image, infeed::image::draw(infeed::image::ColourJitter{}, rng));
///       return image;
///     })
///
/// Thread-safety: functions of their arguments.
namespace infeed::image {

/// Factors are drawn from 1 - x to 1 + x (not below 0), as torchvision's ColorJitter does; x is at
/// most 8. Three numbers of the generator, whatever the values.
struct ColourJitter {
  float brightness = 0.4F;
  float contrast = 0.4F;
  float saturation = 0.4F;
};

/// 1 leaves it as it is.
struct ColourFactors {
  float brightness = 1;
  float contrast = 1;
  float saturation = 1;
};

/// Error invalid_argument for values that are negative or over 8.
ColourFactors draw(const ColourJitter& jitter, Rng& rng);

/// In this order: brightness multiplies all values; contrast moves them away from the image's mean
/// grey; saturation away from the pixel's own grey. Values stay in 0 to 255 after each. Grey images
/// have no saturation; alpha stays.
void adjust(Image& image, const ColourFactors& factors);

}  // namespace infeed::image
