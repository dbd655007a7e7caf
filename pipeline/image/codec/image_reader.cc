#include "image/codec/image_reader.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/error.h>

#include "image/codec/channels.h"

namespace infeed::image {
namespace {

/// Converts rows to other channels on their way from a reader to a sink.
class ConvertedRows final : public RowSink {
 public:
  ConvertedRows(const Rect& part, std::size_t from_channels, std::size_t to_channels,
                const Background& background, std::vector<std::uint8_t>& row, RowSink& sink)
      : part_(part),
        from_channels_(from_channels),
        to_channels_(to_channels),
        background_(background),
        row_(row),
        sink_(sink) {}

  void take(const std::uint8_t* row) noexcept override {
    std::uint8_t* const place = sink_.place();
    std::uint8_t* const to = place != nullptr ? place : row_.data();
    convert_row(row, from_channels_, to, to_channels_, part_.width, background_);
    sink_.take(to);
  }

 private:
  const Rect& part_;
  const std::size_t from_channels_;
  const std::size_t to_channels_;
  const Background& background_;
  std::vector<std::uint8_t>& row_;
  RowSink& sink_;
};

}  // namespace

void ImageReader::open(std::string_view bytes, const DecodeLimits& limits, bool refuse_damaged) {
  header_ = read_header(bytes);
  if (header_.format == ImageFormat::jpeg) {
    jpeg_.open(bytes, limits, refuse_damaged);
    // The decoder knows the size better than read_header(), which needn't understand every file.
    header_.width = jpeg_.size().width;
    header_.height = jpeg_.size().height;
    header_.channels = jpeg_.channels();
  } else if (header_.format == ImageFormat::png) {
    png_.open(bytes, header_, limits);
  } else {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("only JPEG and PNG images can be decoded, and its {} bytes begin as "
                            "neither",
                            bytes.size()));
  }
}

std::uint64_t ImageReader::memory_bytes() const {
  return is_jpeg() ? jpeg_.memory_bytes() : png_.memory_bytes();
}

void ImageReader::read(const Rect& part, unsigned denominator, std::size_t channels,
                       const Background& background, RowSink& sink) {
  // libjpeg itself converts both grey and colour to grey or RGB.
  const std::size_t given = is_jpeg() ? std::min<std::size_t>(channels, 3) : header_.channels;
  ConvertedRows converted(part, given, channels, background, row_, sink);
  if (given != channels) row_.resize(std::max(row_.size(), part.width * channels + kRowPadding));
  RowSink& rows = given == channels ? sink : converted;
  if (is_jpeg()) {
    jpeg_.read(part, denominator, given, rows);
  } else {
    png_.read(part, rows);
  }
}

void ImageReader::trim(std::size_t bytes_max) { png_.trim(bytes_max); }

}  // namespace infeed::image
