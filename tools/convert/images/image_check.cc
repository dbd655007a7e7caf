#include "convert/images/image_check.h"

#include <cstddef>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/image/decode.h>
#include <infeed/image/header.h>

namespace infeed::tools {
namespace {

[[noreturn]] void fail_as_cut(std::string_view format, std::string_view bytes) {
  throw Error(ErrorCode::data_loss,
              fmt::format("the {} image is cut: its {} bytes end inside it", format, bytes.size()));
}

std::size_t little_endian(std::string_view bytes, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 4; i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return value;
}

/// Follows a GIF file's blocks without looking at their content.
class GifBlocks {
 public:
  explicit GifBlocks(std::string_view bytes) : bytes_(bytes) {}

  void follow() {
    constexpr std::size_t kScreenFlags = 10;
    constexpr std::size_t kScreenEnd = 13;
    at_ = kScreenEnd;
    skip_colours(kScreenFlags);
    while (true) {
      switch (const unsigned char kind = take(); kind) {
        case 0x3B:
          return;
        case 0x21:  // an extension and its label
          ++at_;
          skip_parts();
          break;
        case 0x2C: {
          constexpr std::size_t kImageFlags = 8;
          constexpr std::size_t kImageEnd = 9;
          const std::size_t begin = at_;
          at_ += kImageEnd;
          skip_colours(begin + kImageFlags);
          ++at_;  // the size of codes
          skip_parts();
          break;
        }
        default:
          throw Error(ErrorCode::data_loss,
                      fmt::format("the GIF image is damaged: at byte {} is no block", at_ - 1));
      }
    }
  }

 private:
  unsigned char byte_at(std::size_t at) const {
    if (at >= bytes_.size()) fail_as_cut("GIF", bytes_);
    return static_cast<unsigned char>(bytes_[at]);
  }
  unsigned char take() { return byte_at(at_++); }

  void skip_colours(std::size_t flags_at) {
    const unsigned flags = byte_at(flags_at);
    if ((flags & 0x80U) != 0) at_ += std::size_t{3} << ((flags & 7U) + 1);
  }
  void skip_parts() {
    while (const unsigned char size = take()) at_ += size;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

void check_bmp(std::string_view bytes) {
  constexpr std::size_t kHeaderBytes = 14;
  constexpr std::size_t kSizeAt = 2;
  constexpr std::size_t kPixelsAt = 10;
  if (bytes.size() < kHeaderBytes || little_endian(bytes, kSizeAt) > bytes.size() ||
      little_endian(bytes, kPixelsAt) >= bytes.size()) {
    fail_as_cut("BMP", bytes);
  }
}

void check_webp(std::string_view bytes) {
  constexpr std::size_t kSizeAt = 4;
  constexpr std::size_t kRiffBytes = 8;  // bytes that the size doesn't count
  if (little_endian(bytes, kSizeAt) > bytes.size() - kRiffBytes) fail_as_cut("WebP", bytes);
}

}  // namespace

void check_image(std::string_view bytes) {
  switch (image::format_of(bytes)) {
    case image::ImageFormat::jpeg:
      // Decoding at an eighth of the size reads every coefficient and computes a pixel of 64.
      image::decode(bytes, {.jpeg_width_max = 1});
      break;
    case image::ImageFormat::png:
      image::decode(bytes);
      break;
    case image::ImageFormat::gif:
      GifBlocks(bytes).follow();
      break;
    case image::ImageFormat::bmp:
      check_bmp(bytes);
      break;
    case image::ImageFormat::webp:
      check_webp(bytes);
      break;
    case image::ImageFormat::unknown:
      throw Error(ErrorCode::data_loss,
                  fmt::format("its {} bytes don't begin like a JPEG, PNG, GIF, BMP or WebP image",
                              bytes.size()));
  }
}

}  // namespace infeed::tools
