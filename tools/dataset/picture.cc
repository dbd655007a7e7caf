#include "dataset/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

#include <infeed/detail/parse_whole.h>
#include <infeed/error.h>
#include <infeed/image/decode.h>
#include <infeed/records/example.h>

#include "cli/limits.h"

namespace infeed::tools {
namespace {

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
  std::string_view rest = text;
  while (count < numbers.size() && detail::take_number(rest, numbers.at(count))) {
    ++count;
    if (!rest.starts_with('x')) break;
    rest.remove_prefix(1);
  }
  const bool is_good = count >= 2 && rest.empty() && numbers[0] > 0 && numbers[1] > 0 &&
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
  const bool is_too_large = size.width > bytes.size() || size.height > bytes.size() / size.width;
  if (is_too_large || size.width * size.height * size.channels != bytes.size()) {
    fail(column, fmt::format("{} bytes are no {}x{} pixels of {} byte(s)", bytes.size(), size.width,
                             size.height, size.channels));
  }
  Picture picture{size.width, size.height, {}};
  for (const char c : bytes) {
    picture.rgb.insert(picture.rgb.end(), size.channels == 1 ? 3 : 1, static_cast<std::uint8_t>(c));
  }
  return picture;
}

/// Grey becomes three equal channels; transparent pixels become black.
Picture from_encoded(std::string_view bytes, const std::string& column) try {
  // A picture of a terminal's size is enough, and a damaged one is still shown.
  const image::Image image = image::decode(bytes, {.channels = image::Channels::as_in_file,
                                                   .upright = false,
                                                   .refuse_damaged = false,
                                                   .jpeg_width_max = 512});
  Picture picture{image.width, image.height, {}};
  const std::size_t colours = image.channels < 3 ? 1 : 3;
  for (std::size_t at = 0; at < image.pixels.size(); at += image.channels) {
    const auto value = [&](std::size_t i) { return unsigned{image.pixels[at + i]}; };
    const unsigned alpha = colours == image.channels ? 255 : value(colours);
    for (std::size_t c = 0; c < 3; ++c) {
      picture.rgb.push_back(
          static_cast<std::uint8_t>(value(std::min(c, colours - 1)) * alpha / 255));
    }
  }
  return picture;
} catch (const Error& error) {
  fail(column, error.message());
}

using Pixel = std::array<std::uint8_t, 3>;

/// Returns the mean of the part of the picture that cell (x, y) of a grid covers.
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
  const bool is_encoded = bytes.starts_with("\x89PNG") || bytes.starts_with("\xff\xd8\xff");
  Picture picture = is_encoded ? from_encoded(bytes, column) : from_raw(bytes, column, size);
  if (picture.rgb.empty()) fail(column, "the picture is empty");
  return picture;
}

std::vector<std::string> draw(const Picture& picture, const Terminal& terminal) {
  const auto room = static_cast<std::size_t>(std::max(terminal.columns() - 4, 8));
  const std::size_t columns = std::min(picture.width, room);
  // A character is about twice as high as wide, so that it stands for two pixels. A picture that is
  // a thousand times as high as wide is squeezed to a few screens.
  const std::size_t rows = std::clamp<std::size_t>(picture.height * columns / picture.width / 2, 1,
                                                   limits::picture_lines);
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
