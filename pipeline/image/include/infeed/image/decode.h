#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <infeed/image/image.h>

/// Why: decodes JPEG and PNG to the same pixels that libjpeg-turbo and libpng give everybody. For a
/// crop it decodes only the crop.
///
///     const infeed::image::Image whole = infeed::image::decode(jpegs[0]);
///     const auto part = infeed::image::decode_crop(jpegs[0], {.width = 64, .height = 48});
///
/// Palettes, CMYK, YCCK, 1 to 16 bits, progressive and interlaced images all become 8 bits per
/// channel. CMYK is converted without a colour profile, gamma stays as in the file, and 16 bits
/// keep their upper half. By default images stand upright, as the Exif orientation says.
///
/// Errors: data_loss for damaged or cut images (the text says how), invalid_argument for another
/// format and for images beyond a limit. They don't name the file: call at_file().
///
/// Memory: each thread keeps up to 64 MiB for decoding. An image then allocates only its pixels and
/// the memory of the two libraries.
///
/// Thread-safety: functions of their arguments.
namespace infeed::image {

/// Limits that are checked before memory is taken. An image of 150 bytes may claim 65,500 x 65,500
/// pixels, and a progressive one a thousand scans that each pass over all pixels.
struct DecodeLimits {
  std::uint64_t pixels_max = std::uint64_t{1} << 26;
  /// The bytes of the decoder and the pixels together. A progressive JPEG needs two bytes for each
  /// coefficient of the whole image, however small the crop or the scale.
  std::uint64_t memory_bytes_max = std::uint64_t{1} << 29;
  std::size_t scans_max = 100;  ///< JPEG only; encoders write about ten
};

enum class Channels : std::uint8_t { as_in_file = 0, grey = 1, rgb = 3, rgba = 4 };

struct DecodeOptions {
  /// The channels of the result. Grey is 0.299 R + 0.587 G + 0.114 B; added alpha is opaque.
  Channels channels = Channels::rgb;
  /// Turns the image as Exif says. If false, it stays as in the file.
  bool upright = true;
  /// The colour behind pixels with alpha below 255, if alpha isn't asked for. Without it alpha is
  /// dropped, and the colours stay those of the file.
  std::optional<std::array<std::uint8_t, 3>> background = std::nullopt;
  /// If true, damage of a JPEG is an error. If false, missing pixels are grey. Damage of a PNG is
  /// always an error.
  bool refuse_damaged = true;
  /// Decodes a JPEG at a half, a quarter or an eighth of its size if it is still wider than this
  /// (decode() only). Quicker, for previews. 0: always the whole size.
  std::size_t jpeg_width_max = 0;
  DecodeLimits limits = {};
};

Image decode(std::string_view bytes, const DecodeOptions& options = {});

/// Reuses the memory of `image`. After an error the image's content is unspecified.
void decode_into(std::string_view bytes, const DecodeOptions& options, Image& image);

/// Returns bit for bit that part of decode()'s image. `crop` is a part of the upright image
/// (without `upright`, of the file's image). Throws invalid_argument if it leaves the image or is
/// empty. The rows of a JPEG after the crop aren't read, so damage there isn't found.
Image decode_crop(std::string_view bytes, const Rect& crop, const DecodeOptions& options = {});

}  // namespace infeed::image
