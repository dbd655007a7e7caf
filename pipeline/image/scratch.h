#pragma once

#include <vector>

#include <infeed/image/image.h>

#include "image/codec/image_reader.h"
#include "image/resample/resampler.h"

namespace infeed::image {

/// What a thread decodes with, used again for each image: a decoder's tables and a few rows, and
/// whole images where a step needs them whole.
struct Scratch {
  ImageReader reader;
  Resampler resampler;
  Image image;
  Image turned;
  Image resized;
};

/// Of the calling thread; lives as long as the thread.
Scratch& thread_scratch();

/// Lets go of memory that only a rare large image needs.
void trim(Scratch& scratch);

}  // namespace infeed::image
