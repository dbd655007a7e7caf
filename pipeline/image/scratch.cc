#include "image/scratch.h"

namespace infeed::image {

std::unique_ptr<Scratch, TrimScratch> thread_scratch() {
  static thread_local Scratch scratch;
  return std::unique_ptr<Scratch, TrimScratch>(&scratch);
}

void TrimScratch::operator()(Scratch* scratch) const {
  constexpr std::size_t kBytesMax = std::size_t{16} << 20;  // per part
  scratch->reader.trim(kBytesMax);
  for (Image* image : {&scratch->image, &scratch->turned, &scratch->resized}) {
    if (image->pixels.capacity() > kBytesMax) *image = {};
  }
}

}  // namespace infeed::image
