#include <algorithm>
#include <array>
#include <string>
#include <vector>
#include <zlib.h>

#include <infeed/error.h>
#include <infeed/image/decode.h>
#include <infeed/image/header.h>
#include <infeed/image/resized_crop.h>

#include "fuzz.h"

/// JPEG and PNG files of any bytes: refused with an Error, or an image of the size in its header. A
/// crop of it is that part of the whole, decoded alone or on its way into a batch.
namespace infeed::fuzz {
namespace {

using image::Image;

/// Small: larger images take longer and find nothing else.
constexpr image::DecodeLimits kLimits{
    .pixels_max = 1 << 14, .memory_bytes_max = 1 << 22, .scans_max = 12};

/// Corrects the checksums of a PNG's chunks: without them nothing behind a changed byte would be
/// looked at.
std::string with_checksums(std::string_view bytes) {
  std::string png(bytes);
  if (image::format_of(bytes) != image::ImageFormat::png) return png;
  const auto byte = [&png](std::size_t at) {
    return std::size_t{static_cast<unsigned char>(png[at])};
  };
  for (std::size_t at = 8; at + 12 <= png.size();) {
    const std::size_t size = byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3);
    if (size > png.size() - at - 12) break;
    const auto* const name = reinterpret_cast<const Bytef*>(png.data() + at + 4);
    const auto sum = crc32(0, name, static_cast<uInt>(size + 4));
    for (std::size_t i = 0; i < 4; ++i) {
      png[at + 8 + size + i] = static_cast<char>(sum >> (24 - 8 * i));
    }
    at += 12 + size;
  }
  return png;
}

void require_expected(const Error& error) {
  require(error.code() == ErrorCode::data_loss || error.code() == ErrorCode::invalid_argument,
          "a bad image is refused as what it is");
  require(!error.message().empty(), "an error says what is wrong");
}

image::Rect crop_of(image::Size size, Input& input) {
  image::Rect crop;
  crop.left = input.byte() * size.width / 256;
  crop.top = input.byte() * size.height / 256;
  crop.width = 1 + input.byte() * (size.width - crop.left) / 256;
  crop.height = 1 + input.byte() * (size.height - crop.top) / 256;
  return crop;
}

void require_part(const Image& whole, const Image& part, const image::Rect& crop) {
  require(part.size() == image::Size{crop.width, crop.height}, "a crop has its size");
  for (std::size_t y = 0; y < crop.height; ++y) {
    const std::uint8_t* const row = whole.row(crop.top + y) + crop.left * whole.channels;
    require(std::equal(row, row + part.row_bytes(), part.row(y)), "a crop is a part of the whole");
  }
}

void require_steps(std::string_view bytes, const Image& part, const image::Rect& crop) {
  image::Target target{.width = 9, .height = 7, .limits = kLimits};
  std::vector<std::uint8_t> row(9 * 7 * 3);
  image::resized_crop(bytes, target, {.crop = crop}, row);  // perhaps at a fraction of its size
  target.scaled_decoding = false;
  image::resized_crop(bytes, target, {.crop = crop}, row);
  require(row == image::resize(part, {9, 7}).pixels, "a resized crop is the crop, resized");
}

}  // namespace

void check(Input input) {
  const unsigned kind = input.byte();
  const std::string_view four = input.bytes(4);
  Input places(reinterpret_cast<const std::uint8_t*>(four.data()), four.size());
  const std::string bytes = with_checksums(input.rest());
  image::DecodeOptions options{.limits = kLimits};
  constexpr std::array<image::Channels, 4> kChannels{image::Channels::rgb, image::Channels::grey,
                                                     image::Channels::rgba,
                                                     image::Channels::as_in_file};
  options.channels = kChannels.at(kind % 4);
  options.upright = (kind & 4) == 0;
  if ((kind & 8) != 0) options.background = {{1, 2, 3}};
  options.refuse_damaged = (kind & 16) == 0;
  if ((kind & 32) != 0) options.jpeg_width_max = 1 + kind / 64;
  Image whole;
  try {
    whole = image::decode(bytes, options);
    require(whole.pixels.size() == whole.width * whole.height * whole.channels,
            "an image has its pixels");
    require(whole.width * whole.height <= kLimits.pixels_max, "an image keeps to the limit");
    if (options.jpeg_width_max != 0 || !options.refuse_damaged) return;
  } catch (const Error& error) {
    require_expected(error);
    return;
  }
  const image::Rect crop = crop_of(whole.size(), places);
  const Image part = image::decode_crop(bytes, crop, options);
  require_part(whole, part, crop);
  if (options.channels == image::Channels::rgb && options.upright && !options.background) {
    require_steps(bytes, part, crop);
  }
}

}  // namespace infeed::fuzz
