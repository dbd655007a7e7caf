#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// JPEG and PNG files become pixels, the same ones that TensorFlow decodes.
namespace infeed::tools {

/// Rows from the top, the channels of a pixel beside each other, a byte each.
struct DecodedImage {
  std::size_t height = 0;
  std::size_t width = 0;
  std::size_t channels = 0;  ///< as in the file: 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  std::string pixels;
};

struct ImageDecoding {
  /// A JPEG image may come at half, a quarter or an eighth of its size as long as it is wider than
  /// this: quicker, for previews. 0: always whole.
  std::size_t jpeg_width_max = 0;
  /// A JPEG image that is damaged or cut is an error; else its missing part is grey.
  bool refuse_damaged_jpeg = true;
};

/// 16 bits a channel become 8, palettes their colours, CMYK becomes RGB; Exif's orientation is not
/// applied. Error data_loss for a damaged image, and
/// invalid_argument for other formats and images over 2^26 pixels; without the name of a file.
DecodedImage decode_image(std::string_view bytes, const ImageDecoding& decoding = {});

}  // namespace infeed::tools
