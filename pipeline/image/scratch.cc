#include "image/scratch.h"

namespace infeed::image {

Scratch& thread_scratch() {
  static thread_local Scratch scratch;
  return scratch;
}

void trim(Scratch& scratch) {
  constexpr std::size_t kBytesMax = std::size_t{16} << 20;  // per part
  scratch.reader.trim(kBytesMax);
  for (Image* image : {&scratch.image, &scratch.turned, &scratch.resized}) {
    if (image->pixels.capacity() > kBytesMax) *image = {};
  }
}

}  // namespace infeed::image
