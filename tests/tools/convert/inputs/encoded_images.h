#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <jpeglib.h>
#include <png.h>
#include <string>
#include <vector>

namespace infeed::testing {

/// A picture whose left half is white.
inline std::vector<std::uint8_t> half_white(std::size_t side) {
  std::vector<std::uint8_t> rgb;
  for (std::size_t i = 0; i < side * side; ++i) {
    rgb.insert(rgb.end(), 3, i % side < side / 2 ? 255 : 0);
  }
  return rgb;
}

inline std::string as_png(std::size_t side) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = image.height = static_cast<png_uint_32>(side);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 100'000;
  std::string bytes(size, '\0');
  png_image_write_to_memory(&image, bytes.data(), &size, 0, half_white(side).data(), 0, nullptr);
  bytes.resize(size);
  return bytes;
}

inline std::string as_jpeg(std::size_t side) {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &bytes, &size);
  encoder.image_width = encoder.image_height = static_cast<JDIMENSION>(side);
  encoder.input_components = 3;
  encoder.in_color_space = JCS_RGB;
  jpeg_set_defaults(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  std::vector<std::uint8_t> rgb = half_white(side);
  while (encoder.next_scanline < encoder.image_height) {
    JSAMPROW row = rgb.data() + encoder.next_scanline * side * 3;
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  std::string result(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&encoder);
  std::free(bytes);
  return result;
}

}  // namespace infeed::testing
