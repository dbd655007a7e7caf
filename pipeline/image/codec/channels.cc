#include "image/codec/channels.h"

#include <fmt/format.h>
#include <utility>

#include <infeed/error.h>
#include <infeed/image/resize.h>

#include "image/requirements.h"

namespace infeed::image {
namespace {

constexpr bool is_colour(std::size_t channels) { return channels >= 3; }
constexpr bool has_alpha(std::size_t channels) { return channels == 2 || channels == 4; }

}  // namespace

void convert_row(const std::uint8_t* from, std::size_t from_channels, std::uint8_t* to,
                 std::size_t to_channels, std::size_t width,
                 const std::optional<std::array<std::uint8_t, 3>>& background) {
  const bool is_composed = background && has_alpha(from_channels) && !has_alpha(to_channels);
  for (std::size_t x = 0; x < width; ++x, from += from_channels, to += to_channels) {
    std::array<std::uint8_t, 3> rgb{from[0], from[0], from[0]};
    if (is_colour(from_channels)) rgb = {from[0], from[1], from[2]};
    const unsigned alpha = has_alpha(from_channels) ? from[from_channels - 1] : 255U;
    if (is_composed) {
      for (std::size_t c = 0; c < 3; ++c) {
        const unsigned sum = rgb.at(c) * alpha + background->at(c) * (255 - alpha);
        rgb.at(c) = static_cast<std::uint8_t>((sum + 127) / 255);
      }
    }
    if (!is_colour(to_channels)) {
      to[0] = is_colour(from_channels) || is_composed ? grey_of(rgb.data()) : from[0];
      continue;
    }
    for (std::size_t c = 0; c < 3; ++c) to[c] = rgb.at(c);
    if (has_alpha(to_channels)) to[3] = static_cast<std::uint8_t>(alpha);
  }
}

void convert_channels(Image& image, std::size_t channels) {
  if (channels != 1 && channels != 3 && channels != 4) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("an image can have 1, 3 or 4 channels, but {} are asked for", channels));
  }
  require_whole(image);
  if (image.channels == channels) return;
  std::vector<std::uint8_t> pixels(image.width * image.height * channels);
  convert_row(image.pixels.data(), image.channels, pixels.data(), channels,
              image.width * image.height, std::nullopt);
  image.pixels = std::move(pixels);
  image.channels = channels;
}

}  // namespace infeed::image
