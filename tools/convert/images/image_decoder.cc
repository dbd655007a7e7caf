#include "convert/images/image_decoder.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <jpeglib.h>
#include <png.h>

// Needs what jpeglib.h declares.
#include <jerror.h>

#include <infeed/error.h>

namespace infeed::tools {
namespace {

constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpegMagic = "\xff\xd8\xff";
constexpr std::size_t kPixelsMax = std::size_t{1} << 26;  // what a header may claim

void require_size(std::size_t width, std::size_t height) {
  if (width > 0 && height > 0 && width <= kPixelsMax / height) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the image has {} x {} pixels, but at most {} can be decoded", width,
                          height, kPixelsMax));
}

/// libjpeg and libpng report by a call that must not return, so what decodes has no object with a
/// destructor: the jump would pass it by.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::array<char, JMSG_LENGTH_MAX> message;
  bool is_damaged;
  std::jmp_buf jump;
};

void jump_out_of_jpeg(j_common_ptr decoder) {
  auto* const errors = reinterpret_cast<JpegErrors*>(decoder->err);
  decoder->err->format_message(decoder, errors->message.data());
  std::longjmp(errors->jump, 1);
}

/// Level -1 are warnings: the image goes on, with pixels that were guessed.
void note_jpeg_warning(j_common_ptr decoder, int level) {
  auto* const errors = reinterpret_cast<JpegErrors*>(decoder->err);
  // Bytes between two markers hurt nobody, and cameras write them.
  if (level >= 0 || errors->is_damaged || decoder->err->msg_code == JWRN_EXTRANEOUS_DATA) return;
  errors->is_damaged = true;
  decoder->err->format_message(decoder, errors->message.data());
}

struct JpegDecoder {
  jpeg_decompress_struct decompress;
  JpegErrors errors;
};

/// libjpeg makes CMYK of YCCK, but RGB of neither.
J_COLOR_SPACE colour_space_of(int components) {
  if (components == 1) return JCS_GRAYSCALE;
  return components == 4 ? JCS_CMYK : JCS_RGB;
}

/// Without a colour profile, as TensorFlow does it. Files with Adobe's marker hold inverted ink.
std::string rgb_of_cmyk(std::string_view cmyk, bool is_inverted) {
  std::string rgb;
  rgb.reserve(cmyk.size() / 4 * 3);
  for (std::size_t at = 0; at + 4 <= cmyk.size(); at += 4) {
    const auto light = [&](std::size_t i) {
      const auto value = static_cast<unsigned char>(cmyk[at + i]);
      return is_inverted ? unsigned{value} : 255U - value;
    };
    for (std::size_t i = 0; i < 3; ++i) rgb.push_back(static_cast<char>(light(i) * light(3) / 255));
  }
  return rgb;
}

bool read_jpeg_header(JpegDecoder& jpeg, std::string_view bytes, const ImageDecoding& decoding) {
  jpeg_decompress_struct& decoder = jpeg.decompress;
  decoder.err = jpeg_std_error(&jpeg.errors.manager);
  jpeg.errors.manager.error_exit = jump_out_of_jpeg;
  jpeg.errors.manager.emit_message = note_jpeg_warning;
  if (setjmp(jpeg.errors.jump) != 0) return false;
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&decoder, TRUE);
  decoder.out_color_space = colour_space_of(decoder.num_components);
  decoder.scale_num = 1;
  while (decoding.jpeg_width_max > 0 && decoder.scale_denom < 8 &&
         decoder.image_width / decoder.scale_denom > decoding.jpeg_width_max) {
    decoder.scale_denom *= 2;
  }
  jpeg_calc_output_dimensions(&decoder);
  return true;
}

bool read_jpeg_pixels(JpegDecoder& jpeg, DecodedImage& image) {
  jpeg_decompress_struct& decoder = jpeg.decompress;
  if (setjmp(jpeg.errors.jump) != 0) return false;
  jpeg_start_decompress(&decoder);
  while (decoder.output_scanline < decoder.output_height) {
    char* const at = image.pixels.data() + decoder.output_scanline * image.width * image.channels;
    auto* row = reinterpret_cast<JSAMPROW>(at);
    jpeg_read_scanlines(&decoder, &row, 1);
  }
  jpeg_finish_decompress(&decoder);
  return true;
}

DecodedImage decode_jpeg(std::string_view bytes, const ImageDecoding& decoding) {
  struct Owner : JpegDecoder {
    ~Owner() { jpeg_destroy_decompress(&decompress); }
  } jpeg{};
  const auto fail = [&] {
    throw Error(ErrorCode::data_loss,
                fmt::format("the JPEG image can't be decoded: {}", jpeg.errors.message.data()));
  };
  if (!read_jpeg_header(jpeg, bytes, decoding)) fail();
  DecodedImage image{jpeg.decompress.output_height,
                     jpeg.decompress.output_width,
                     static_cast<std::size_t>(jpeg.decompress.out_color_components),
                     {}};
  require_size(image.width, image.height);
  image.pixels.resize(image.height * image.width * image.channels);
  if (!read_jpeg_pixels(jpeg, image)) fail();
  if (jpeg.errors.is_damaged && decoding.refuse_damaged_jpeg) fail();
  if (jpeg.decompress.out_color_space == JCS_CMYK) {
    image.pixels = rgb_of_cmyk(image.pixels, jpeg.decompress.saw_Adobe_marker != 0);
    image.channels = 3;
  }
  return image;
}

struct PngSource {
  const char* at;
  std::size_t left;
};

struct PngDecoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  PngSource source{};
  std::array<char, 128> message{};

  ~PngDecoder() { png_destroy_read_struct(&png, &info, nullptr); }
};

void jump_out_of_png(png_structp png, png_const_charp message) {
  auto* const decoder = static_cast<PngDecoder*>(png_get_error_ptr(png));
  std::strncpy(decoder->message.data(), message, decoder->message.size() - 1);
  png_longjmp(png, 1);
}

void read_png_bytes(png_structp png, png_bytep into, std::size_t count) {
  auto* const source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (count > source->left) png_error(png, "the file ends inside it");
  std::memcpy(into, source->at, count);
  source->at += count;
  source->left -= count;
}

/// All rows are then in libpng's memory.
bool read_png(PngDecoder& decoder) {
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, jump_out_of_png,
                                       [](png_structp, png_const_charp) {});  // warnings go nowhere
  if (decoder.png == nullptr) return false;
  if (setjmp(png_jmpbuf(decoder.png)) != 0) return false;
  decoder.info = png_create_info_struct(decoder.png);
  png_set_read_fn(decoder.png, &decoder.source, read_png_bytes);
  // Gamma stays as it is: a dataset wants the numbers that are in the file.
  png_read_png(decoder.png, decoder.info, PNG_TRANSFORM_EXPAND | PNG_TRANSFORM_STRIP_16, nullptr);
  return true;
}

/// Before libpng takes memory for it. The first chunk is the header: width and height at 16 and 20.
void require_png_size(std::string_view bytes) {
  const auto number = [bytes](std::size_t at) {
    std::size_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
      value = value << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return value;
  };
  constexpr std::size_t kSizesEnd = 24;
  if (bytes.size() >= kSizesEnd) require_size(number(16), number(20));
}

DecodedImage decode_png(std::string_view bytes) {
  require_png_size(bytes);
  PngDecoder decoder;
  decoder.source = {bytes.data(), bytes.size()};
  if (!read_png(decoder)) {
    throw Error(ErrorCode::data_loss,
                fmt::format("the PNG image can't be decoded: {}", decoder.message.data()));
  }
  DecodedImage image{png_get_image_height(decoder.png, decoder.info),
                     png_get_image_width(decoder.png, decoder.info),
                     png_get_channels(decoder.png, decoder.info),
                     {}};
  const std::size_t row_bytes = image.width * image.channels;
  image.pixels.reserve(image.height * row_bytes);
  const png_bytepp rows = png_get_rows(decoder.png, decoder.info);
  for (std::size_t y = 0; y < image.height; ++y) {
    image.pixels.append(reinterpret_cast<const char*>(rows[y]), row_bytes);
  }
  return image;
}

}  // namespace

DecodedImage decode_image(std::string_view bytes, const ImageDecoding& decoding) {
  if (bytes.starts_with(kPngMagic.substr(0, 4))) return decode_png(bytes);
  if (bytes.starts_with(kJpegMagic)) return decode_jpeg(bytes, decoding);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("only JPEG and PNG images can be decoded, and its {} bytes begin as "
                          "neither",
                          bytes.size()));
}

}  // namespace infeed::tools
