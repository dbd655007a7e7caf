#pragma once

#include <memory>

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

/// Frees memory that only a rare large image needs.
struct TrimScratch {
  void operator()(Scratch* scratch) const;
};

/// Lends the scratch of the calling thread for one image. It lives as long as the thread, and is
/// trimmed when it is given back, also if the image failed.
std::unique_ptr<Scratch, TrimScratch> thread_scratch();

}  // namespace infeed::image
