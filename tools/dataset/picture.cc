#include "dataset/picture.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <fmt/format.h>
#include <jpeglib.h>
#include <png.h>

#include <infeed/error.h>
#include <infeed/records/example.h>

namespace infeed::tools {
namespace {

constexpr std::size_t kPixelsMax = std::size_t{1} << 26;  // what a header may claim

[[noreturn]] void fail(const std::string& column, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, fmt::format("column '{}': {}", column, what));
}

struct Size {
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t channels = 1;
};

Size parse_size(const std::string& text) {
  std::array<std::size_t, 3> numbers{0, 0, 1};
  std::size_t count = 0;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (count < numbers.size()) {
    const auto [next, error] = std::from_chars(at, end, numbers.at(count));
    if (error != std::errc()) break;
    ++count;
    at = next;
    if (at == end || *at != 'x') break;
    ++at;
  }
  const bool is_good = count >= 2 && at == end && numbers[0] > 0 && numbers[1] > 0 &&
                       (numbers[2] == 1 || numbers[2] == 3);
  if (!is_good) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a picture's size is like 28x28 or 32x32x3, but '{}' is given", text));
  }
  return {numbers[0], numbers[1], numbers[2]};
}

Size guess_size(std::size_t bytes) {
  for (const std::size_t channels : {std::size_t{1}, std::size_t{3}}) {
    const auto side = static_cast<std::size_t>(std::llround(std::sqrt(double(bytes / channels))));
    if (side > 0 && side * side * channels == bytes) return {side, side, channels};
  }
  return {};
}

Picture from_raw(std::string_view bytes, const std::string& column, const std::string& size_text) {
  const Size size = size_text.empty() ? guess_size(bytes.size()) : parse_size(size_text);
  if (size.width == 0) {
    fail(column,
         fmt::format("its {} bytes are neither PNG nor JPEG nor a square of pixels; say the "
                     "size of raw pixels with --picture-size",
                     bytes.size()));
  }
  if (size.width * size.height * size.channels != bytes.size()) {
    fail(column, fmt::format("{} bytes are no {}x{} pixels of {} byte(s)", bytes.size(), size.width,
                             size.height, size.channels));
  }
  Picture picture{size.width, size.height, {}};
  for (const char c : bytes) {
    picture.rgb.insert(picture.rgb.end(), size.channels == 1 ? 3 : 1, static_cast<std::uint8_t>(c));
  }
  return picture;
}

Picture from_png(std::string_view bytes, const std::string& column) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const auto fail_png = [&] {
    const std::string message = image.message;
    png_image_free(&image);
    fail(column, fmt::format("the PNG image can't be decoded: {}", message));
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) fail_png();
  if (std::size_t{image.width} * image.height > kPixelsMax) {
    png_image_free(&image);
    fail(column, "the PNG image is too large to be shown");
  }
  image.format = PNG_FORMAT_RGB;
  Picture picture{image.width, image.height, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(image))};
  const png_color black{};
  if (png_image_finish_read(&image, &black, picture.rgb.data(), 0, nullptr) == 0) fail_png();
  return picture;
}

/// libjpeg reports by a call that must not return.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::array<char, JMSG_LENGTH_MAX> message;
  std::jmp_buf jump;
};

void jump_out(j_common_ptr decoder) {
  auto* const errors = reinterpret_cast<JpegErrors*>(decoder->err);
  decoder->err->format_message(decoder, errors->message.data());
  std::longjmp(errors->jump, 1);
}

/// No object with a destructor lives in here, as the jump would pass it by. False: see `errors`.
bool decode_jpeg(std::string_view bytes, JpegErrors& errors, Picture& picture) {
  jpeg_decompress_struct decoder{};
  decoder.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = jump_out;
  errors.manager.output_message = [](j_common_ptr) {};  // warnings go nowhere
  if (setjmp(errors.jump) != 0) {
    jpeg_destroy_decompress(&decoder);
    return false;
  }
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&decoder, TRUE);
  decoder.out_color_space = JCS_RGB;
  // A picture of a terminal's size is enough.
  while (decoder.scale_denom < 8 && decoder.image_width / decoder.scale_denom > 512) {
    decoder.scale_num = 1;
    decoder.scale_denom *= 2;
  }
  jpeg_start_decompress(&decoder);
  picture.width = decoder.output_width;
  picture.height = decoder.output_height;
  picture.rgb.resize(std::min(picture.width * picture.height, kPixelsMax) * 3);
  while (decoder.output_scanline < decoder.output_height &&
         (decoder.output_scanline + 1) * picture.width * 3 <= picture.rgb.size()) {
    JSAMPROW row = picture.rgb.data() + decoder.output_scanline * picture.width * 3;
    jpeg_read_scanlines(&decoder, &row, 1);
  }
  jpeg_destroy_decompress(&decoder);
  return true;
}

Picture from_jpeg(std::string_view bytes, const std::string& column) {
  JpegErrors errors{};
  Picture picture;
  if (!decode_jpeg(bytes, errors, picture)) {
    fail(column, fmt::format("the JPEG image can't be decoded: {}", errors.message.data()));
  }
  picture.height = picture.width == 0 ? 0 : picture.rgb.size() / 3 / picture.width;
  return picture;
}

using Pixel = std::array<std::uint8_t, 3>;

/// The mean of the part of the picture that cell (x, y) of a grid covers.
Pixel mean_of_cell(const Picture& picture, std::size_t x, std::size_t y, std::size_t columns,
                   std::size_t rows) {
  const std::size_t left = x * picture.width / columns;
  const std::size_t right = std::max(left + 1, (x + 1) * picture.width / columns);
  const std::size_t top = y * picture.height / rows;
  const std::size_t bottom = std::max(top + 1, (y + 1) * picture.height / rows);
  std::array<std::size_t, 3> sum{};
  for (std::size_t row = top; row < bottom; ++row) {
    for (std::size_t column = left; column < right; ++column) {
      for (std::size_t c = 0; c < 3; ++c) {
        sum.at(c) += picture.rgb[(row * picture.width + column) * 3 + c];
      }
    }
  }
  const std::size_t count = (right - left) * (bottom - top);
  Pixel pixel{};
  for (std::size_t c = 0; c < 3; ++c) pixel.at(c) = static_cast<std::uint8_t>(sum.at(c) / count);
  return pixel;
}

std::string coloured_cell(const Pixel& upper, const Pixel& lower) {
  return fmt::format("\x1b[38;2;{};{};{}m\x1b[48;2;{};{};{}m▀", upper[0], upper[1], upper[2],
                     lower[0], lower[1], lower[2]);
}

char dark_cell(const Pixel& upper, const Pixel& lower) {
  constexpr std::string_view kRamp = " .:-=+*#%@";
  const auto brightness = [](const Pixel& p) { return 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]; };
  const double mean = (brightness(upper) + brightness(lower)) / 2;
  return kRamp[static_cast<std::size_t>(mean * (static_cast<double>(kRamp.size()) - 0.01) / 255)];
}

}  // namespace

Picture decode_picture(std::string_view example, const std::string& column,
                       const std::string& size) {
  const ExampleParser parser({column});
  std::array<FeatureView, 1> view;
  parser.parse(example, view);
  if (!view[0].is_present()) fail(column, "the record has no such feature");
  const std::string_view bytes = view[0].single_bytes();
  Picture picture = bytes.starts_with("\x89PNG")        ? from_png(bytes, column)
                    : bytes.starts_with("\xff\xd8\xff") ? from_jpeg(bytes, column)
                                                        : from_raw(bytes, column, size);
  if (picture.rgb.empty()) fail(column, "the picture is empty");
  return picture;
}

std::vector<std::string> draw(const Picture& picture, const Terminal& terminal) {
  const auto room = static_cast<std::size_t>(std::max(terminal.columns() - 4, 8));
  const std::size_t columns = std::min(picture.width, room);
  // A character is about twice as high as wide, so that it stands for two pixels.
  const std::size_t rows = std::max<std::size_t>(1, picture.height * columns / picture.width / 2);
  std::vector<std::string> lines;
  for (std::size_t y = 0; y < rows; ++y) {
    std::string line;
    for (std::size_t x = 0; x < columns; ++x) {
      const Pixel upper = mean_of_cell(picture, x, 2 * y, columns, 2 * rows);
      const Pixel lower = mean_of_cell(picture, x, 2 * y + 1, columns, 2 * rows);
      line += terminal.has_colours() ? coloured_cell(upper, lower)
                                     : std::string(1, dark_cell(upper, lower));
    }
    if (terminal.has_colours()) line += "\x1b[0m";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace infeed::tools
