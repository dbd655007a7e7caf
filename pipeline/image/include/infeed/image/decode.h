#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <infeed/image/image.h>

/// Why: JPEG and PNG become pixels, the same ones that libjpeg-turbo and libpng give everybody; of
/// a crop only what lies in it is decoded.
///
///     const infeed::image::Image whole = infeed::image::decode(jpegs[0]);
///     const auto part = infeed::image::decode_crop(jpegs[0], {.width = 64, .height = 48});
///
/// Palettes, CMYK, YCCK, 1 to 16 bits, progressive and interlaced images all become 8 bits a
/// channel; CMYK without a colour profile, gamma as it is in the file, 16 bits by their upper half.
/// By default they stand upright, as the Exif orientation says.
///
/// Errors: data_loss for what is damaged or cut (the text says how), invalid_argument for another
/// format, and resource_exhausted for what passes a limit. They know no file: call at_file().
/// Memory: each thread keeps what it decodes with, up to 64 MiB; an image takes nothing new then
/// but its pixels and what the two libraries take for themselves.
/// Thread-safety: functions of their arguments.
namespace infeed::image {

/// Checked before memory is taken. An image of 150 bytes may claim 65,500 x 65,500 pixels, and a
/// progressive one a thousand scans that each pass over all of them.
struct DecodeLimits {
  std::uint64_t pixels_max = std::uint64_t{1} << 26;
  /// Of the decoder and the pixels together. A progressive JPEG needs two bytes for each
  /// coefficient of the whole image, however small the crop or the scale.
  std::uint64_t memory_bytes_max = std::uint64_t{1} << 29;
  std::size_t scans_max = 100;  ///< of a JPEG; encoders write about ten
};

enum class Channels : std::uint8_t { as_in_file = 0, grey = 1, rgb = 3, rgba = 4 };

struct DecodeOptions {
  /// Grey is 0.299 R + 0.587 G + 0.114 B; alpha that is new is opaque.
  Channels channels = Channels::rgb;
  /// Turned as Exif says. Without it, as the file has it.
  bool upright = true;
  /// What shines through where alpha is less than 255 and isn't asked for; without it alpha is
  /// dropped, and the colours stay those of the file.
  std::optional<std::array<std::uint8_t, 3>> background = std::nullopt;
  /// Damage of a JPEG is an error; else what is missing is grey. Of a PNG it always is one.
  bool refuse_damaged = true;
  /// A JPEG may come at a half, a quarter or an eighth of its size as long as it is wider than
  /// this (decode() only): quicker, for previews. 0: always whole.
  std::size_t jpeg_width_max = 0;
  DecodeLimits limits = {};
};

Image decode(std::string_view bytes, const DecodeOptions& options = {});

/// Uses the memory that `image` has; after an error its content is not specified.
void decode_into(std::string_view bytes, const DecodeOptions& options, Image& image);

/// Bit for bit that part of what decode() gives. `crop` is one of the upright image (without
/// `upright`, of the file's); error invalid_argument where it leaves it or is empty. A JPEG's rows
/// behind the crop aren't looked at, so damage there isn't found.
Image decode_crop(std::string_view bytes, const Rect& crop, const DecodeOptions& options = {});

}  // namespace infeed::image
