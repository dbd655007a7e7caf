#pragma once

#include <infeed/error.h>
#include <infeed/image/image.h>
#include <infeed/pipeline/philox.h>

/// Why: the colours of a photograph depend on the light and the camera. Random small changes teach
/// a network to ignore them. Fixed-point arithmetic gives the same bytes on every processor.
///
///     infeed::map([](infeed::image::Image image, infeed::Rng& rng) {
///       infeed::image::adjust(image, infeed::image::draw(infeed::image::ColourJitter{}, rng));
///       return image;
///     })
///
/// Thread-safety: functions of their arguments.
namespace infeed::image {

/// The ranges of the factors: 1 - x to 1 + x (not below 0), as in torchvision's ColorJitter; x is
/// at most 8. A draw takes three numbers of the generator, whatever the values.
struct ColourJitter {
  float brightness = 0.4F;
  float contrast = 0.4F;
  float saturation = 0.4F;
};

/// The factors of one image; 1 changes nothing.
struct ColourFactors {
  float brightness = 1;
  float contrast = 1;
  float saturation = 1;
};

/// Draws factors. Throws invalid_argument for values that are negative or over 8.
ColourFactors draw(const ColourJitter& jitter, Rng& rng);

/// Changes the colours in this order: brightness multiplies all values, contrast moves them away
/// from the image's mean grey, saturation away from the pixel's own grey. After each, values are
/// clamped to 0 to 255. Grey images have no saturation; alpha stays.
void adjust(Image& image, const ColourFactors& factors);

}  // namespace infeed::image
