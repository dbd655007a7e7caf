#pragma once

#include <cstring>

#include <infeed/image/image.h>

#include "image/row_sink.h"

namespace infeed::image {

/// Keeps all rows as an image, and reuses the image's memory.
class ImageRows final : public RowSink {
 public:
  ImageRows(Size size, std::size_t channels, Image& image) : image_(image) {
    image.width = size.width;
    image.height = size.height;
    image.channels = channels;
    image.pixels.resize(size.height * image.row_bytes());
  }

  std::uint8_t* place() noexcept override { return image_.row(rows_); }
  void take(const std::uint8_t* row) noexcept override {
    if (row != image_.row(rows_)) std::memcpy(image_.row(rows_), row, image_.row_bytes());
    ++rows_;
  }

 private:
  Image& image_;
  std::size_t rows_ = 0;
};

}  // namespace infeed::image
