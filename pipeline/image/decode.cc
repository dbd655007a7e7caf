#include "infeed/image/decode.h"

#include "image/image_rows.h"
#include "image/orientation.h"
#include "image/requirements.h"
#include "image/scratch.h"

namespace infeed::image {
namespace {

std::size_t channels_of(const ImageReader& reader, const DecodeOptions& options) {
  return options.channels == Channels::as_in_file ? reader.header().channels
                                                  : static_cast<std::size_t>(options.channels);
}

/// Exif's orientation where the image is to be turned by it, else 1.
int orientation_for(const ImageReader& reader, const DecodeOptions& options) {
  return options.upright ? reader.header().orientation : 1;
}

Size divided(Size size, unsigned denominator) {
  return {(size.width + denominator - 1) / denominator,
          (size.height + denominator - 1) / denominator};
}

unsigned denominator_for(const ImageReader& reader, const DecodeOptions& options) {
  unsigned denominator = 1;
  if (!reader.is_jpeg() || options.jpeg_width_max == 0) return denominator;
  const Size size = upright_size(reader.size(), orientation_for(reader, options));
  while (denominator < 8 && divided(size, denominator).width > options.jpeg_width_max) {
    denominator *= 2;
  }
  return denominator;
}

/// Reads `part`, a part of the stored image at 1/denominator of its size.
void read_part(Scratch& scratch, const Rect& part, unsigned denominator,
               const DecodeOptions& options, Image& image) {
  ImageReader& reader = scratch.reader;
  const std::size_t channels = channels_of(reader, options);
  const int orientation = orientation_for(reader, options);
  const std::uint64_t pixels = std::uint64_t{part.width} * part.height * channels;
  require_memory(reader.memory_bytes() + pixels * (orientation > 1 ? 2 : 1), options.limits);
  ImageRows rows({part.width, part.height}, channels, image);
  reader.read(part, denominator, channels, options.background, rows);
  turn_upright(image, orientation, scratch.turned);
}

}  // namespace

void decode_into(std::string_view bytes, const DecodeOptions& options, Image& image) {
  const auto scratch = thread_scratch();
  scratch->reader.open(bytes, options.limits, options.refuse_damaged);
  const unsigned denominator = denominator_for(scratch->reader, options);
  const Size size = divided(scratch->reader.size(), denominator);
  read_part(*scratch, {0, 0, size.width, size.height}, denominator, options, image);
}

Image decode(std::string_view bytes, const DecodeOptions& options) {
  Image image;
  decode_into(bytes, options, image);
  return image;
}

Image decode_crop(std::string_view bytes, const Rect& crop, const DecodeOptions& options) {
  const auto scratch = thread_scratch();
  scratch->reader.open(bytes, options.limits, options.refuse_damaged);
  const Size stored = scratch->reader.size();
  const int orientation = orientation_for(scratch->reader, options);
  require_inside(crop, upright_size(stored, orientation));
  Image image;
  read_part(*scratch, stored_part(crop, orientation, stored), 1, options, image);
  return image;
}

}  // namespace infeed::image
