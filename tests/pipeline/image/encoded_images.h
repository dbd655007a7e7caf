#pragma once

#include <cstdint>
#include <cstdlib>
#include <jpeglib.h>
#include <png.h>
#include <string>
#include <vector>
#include <zlib.h>

#include <infeed/image/image.h>

namespace infeed::test {

/// Returns a picture whose left half is white.
inline std::vector<std::uint8_t> half_white(std::size_t side) {
  std::vector<std::uint8_t> rgb;
  for (std::size_t i = 0; i < side * side; ++i) {
    rgb.insert(rgb.end(), 3, i % side < side / 2 ? 255 : 0);
  }
  return rgb;
}

/// `components` bytes a pixel: 1 grey, 3 RGB, 4 CMYK with inverted ink, as Adobe's programs write it.
struct JpegKind {
  int quality = 100;
  bool is_progressive = false;
  int sampling = 2;              ///< brightness samples for one of colour, each way
  bool has_adobe_marker = true;  ///< for CMYK
  int restart_rows = 0;
  bool is_arithmetic = false;
};

inline std::string jpeg_of(int components, unsigned width, unsigned height,
                           std::vector<std::uint8_t> pixels, const JpegKind& kind = {}) {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &bytes, &size);
  encoder.image_width = width;
  encoder.image_height = height;
  encoder.input_components = components;
  encoder.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&encoder);
  encoder.write_Adobe_marker = components == 4 && kind.has_adobe_marker ? TRUE : FALSE;
  encoder.arith_code = kind.is_arithmetic ? TRUE : FALSE;
  encoder.restart_in_rows = kind.restart_rows;
  jpeg_set_quality(&encoder, kind.quality, TRUE);
  encoder.comp_info[0].h_samp_factor = encoder.comp_info[0].v_samp_factor = kind.sampling;
  if (kind.is_progressive) jpeg_simple_progression(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  while (encoder.next_scanline < encoder.image_height) {
    JSAMPROW row =
        pixels.data() + std::size_t{encoder.next_scanline} * width * unsigned(components);
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  std::string result(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&encoder);
  std::free(bytes);
  return result;
}

inline std::string as_jpeg(std::size_t side) {
  const auto pixels = static_cast<unsigned>(side);
  return jpeg_of(3, pixels, pixels, half_white(side), {.quality = 75});
}

/// Returns a picture with gradients, edges and some noise, so that every mistake of a decoder
/// shows.
inline image::Image drawn_image(std::size_t width, std::size_t height, std::size_t channels,
                                std::uint32_t seed = 1) {
  image::Image image{width, height, channels, {}};
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t c = 0; c < channels; ++c) {
        seed = seed * 1'664'525 + 1'013'904'223;
        const bool is_inside = (x / 13 + y / 9 + c) % 3 == 0;
        const std::size_t value = (x * (c + 2) + y * 3) % 200 + (is_inside ? 40 : 0);
        image.pixels.push_back(static_cast<std::uint8_t>(value + (seed >> 28)));
      }
    }
  }
  return image;
}

inline std::string as_jpeg(const image::Image& image, const JpegKind& kind = {}) {
  return jpeg_of(static_cast<int>(image.channels), static_cast<unsigned>(image.width),
                 static_cast<unsigned>(image.height), image.pixels, kind);
}

/// `format` is libpng's (PNG_FORMAT_GRAY...).
inline std::string png_of(png_uint_32 format, png_uint_32 width, png_uint_32 height,
                          const std::string& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = format;
  png_alloc_size_t size = 100'000;
  std::string bytes(size, '\0');
  png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr);
  bytes.resize(size);
  return bytes;
}

inline std::string as_png(std::size_t side) {
  const std::vector<std::uint8_t> rgb = half_white(side);
  const auto pixels = static_cast<png_uint_32>(side);
  return png_of(PNG_FORMAT_RGB, pixels, pixels, std::string(rgb.begin(), rgb.end()));
}

/// Encodes `bits` 1 to 16 of each channel of libpng's colour type; `rows` go into the file
/// unchanged.
inline std::string raw_png(unsigned width, unsigned height, int bits, int colour_type,
                           bool is_interlaced, std::string rows) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp to, png_bytep bytes, std::size_t size) {
        static_cast<std::string*>(png_get_io_ptr(to))
            ->append(reinterpret_cast<const char*>(bytes), size);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, bits, colour_type,
               is_interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const std::size_t row_bytes = rows.size() / height;
  std::vector<png_bytep> pointers;
  for (unsigned y = 0; y < height; ++y) {
    pointers.push_back(reinterpret_cast<png_bytep>(rows.data() + y * row_bytes));
  }
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

/// Returns a TIFF structure that holds nothing but the orientation, in the byte order of either
/// processor.
inline std::string tiff_of(int orientation, bool is_big_endian) {
  const auto number = [&](unsigned value, std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(value >> (8 * i));
    return is_big_endian ? std::string(text.rbegin(), text.rend()) : text;
  };
  const std::string entry = number(0x0112, 2) + number(3, 2) + number(1, 4) +
                            number(unsigned(orientation), 2) + number(0, 2);
  return (is_big_endian ? "MM" : "II") + number(42, 2) + number(8, 4) + number(1, 2) + entry +
         number(0, 4);
}

/// Returns the JPEG image with an Exif segment of its orientation.
inline std::string with_orientation(const std::string& jpeg, int orientation,
                                    bool is_big_endian = false) {
  const std::string content = std::string("Exif\0\0", 6) + tiff_of(orientation, is_big_endian);
  const std::size_t size = content.size() + 2;
  const std::string segment =
      std::string("\xff\xe1") + static_cast<char>(size >> 8) + static_cast<char>(size) + content;
  return jpeg.substr(0, 2) + segment + jpeg.substr(2);
}

/// The place of an eXIf chunk in a PNG image.
enum class ExifPlace { before_pixels, behind_pixels };

/// Returns the PNG image with an eXIf chunk of its orientation.
inline std::string png_with_orientation(const std::string& png, int orientation,
                                        bool is_big_endian = false,
                                        ExifPlace place = ExifPlace::before_pixels) {
  const auto big_endian = [](std::uint64_t value) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
    return text;
  };
  const std::string content = "eXIf" + tiff_of(orientation, is_big_endian);
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()), uInt(content.size()));
  const std::string chunk = big_endian(content.size() - 4) + content + big_endian(crc);
  constexpr std::size_t kEndBytes = 12;
  const std::size_t at =
      place == ExifPlace::before_pixels ? png.find("IDAT") - 4 : png.size() - kEndBytes;
  return png.substr(0, at) + chunk + png.substr(at);
}

}  // namespace infeed::test
