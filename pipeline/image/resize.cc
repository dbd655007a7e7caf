#include "infeed/image/resize.h"

#include <fmt/format.h>

#include <infeed/error.h>

#include "image/image_rows.h"
#include "image/requirements.h"
#include "image/resample/resampler.h"
#include "image/scratch.h"

namespace infeed::image {
namespace {

class BytesRows final : public RowSink {
 public:
  BytesRows(std::size_t row_bytes, std::span<std::uint8_t> out)
      : row_bytes_(row_bytes), out_(out.data()) {}
  void take(const std::uint8_t* row) noexcept override {
    std::memcpy(out_, row, row_bytes_);
    out_ += row_bytes_;
  }

 private:
  const std::size_t row_bytes_;
  std::uint8_t* out_;
};

void require_sides(const Image& image, Size size) {
  require_whole(image);
  for (const std::size_t side : {image.width, image.height, size.width, size.height}) {
    if (side >= 1 && side <= kSideMax) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("an image of {} x {} can't be resized to {} x {}: each side must be 1 "
                            "to {}",
                            image.width, image.height, size.width, size.height, kSideMax));
  }
}

}  // namespace

void resize_into(const Image& image, Size size, Filter filter, std::span<std::uint8_t> out) {
  require_sides(image, size);
  const std::size_t row_bytes = size.width * image.channels;
  if (out.size() != size.height * row_bytes) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{} bytes are given for an image of {} x {} with {} channels, which "
                    "has {}",
                    out.size(), size.width, size.height, image.channels, size.height * row_bytes));
  }
  const auto scratch = thread_scratch();
  Resampler& resampler = scratch->resampler;
  BytesRows rows(row_bytes, out);
  resampler.begin({.length = image.width, .outputs = size.width},
                  {.length = image.height, .outputs = size.height}, image.channels, filter, rows);
  resampler.take_all(image);
}

Image resize(const Image& image, Size size, Filter filter) {
  require_sides(image, size);
  Image result{size.width, size.height, image.channels, {}};
  result.pixels.resize(size.height * result.row_bytes());
  resize_into(image, size, filter, result.pixels);
  return result;
}

}  // namespace infeed::image
