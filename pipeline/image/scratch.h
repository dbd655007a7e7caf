#pragma once

#include <vector>

#include <infeed/image/image.h>

#include "image/codec/image_reader.h"
#include "image/resample/resampler.h"

namespace infeed::image {

/// A thread's decoding memory, reused for each image: a decoder's tables and a few rows, and whole
/// images for steps that need them.
struct Scratch {
  ImageReader reader;
  Resampler resampler;
  Image image;
  Image turned;
  Image resized;
};

/// Returns the scratch of the calling thread. It lives as long as the thread.
Scratch& thread_scratch();

/// Frees memory that only a rare large image needs.
void trim(Scratch& scratch);

}  // namespace infeed::image
