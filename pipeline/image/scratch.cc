#include "image/scratch.h"

namespace infeed::image {

Scratch& thread_scratch() {
  static thread_local Scratch scratch;
  return scratch;
}

void trim(Scratch& scratch) {
  constexpr std::size_t kBytesMax = std::size_t{16} << 20;  // of each part
  scratch.reader.trim(kBytesMax);
  if (scratch.image.pixels.capacity() > kBytesMax) scratch.image = {};
  if (scratch.turned.pixels.capacity() > kBytesMax) scratch.turned = {};
}

}  // namespace infeed::image
