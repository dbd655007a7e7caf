#include "convert/images/image_features.h"

#include <cstdint>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/image/decode.h>
#include <infeed/image/resize.h>

#include "convert/images/image_check.h"

namespace infeed::tools {
namespace {

image::Image decode(std::string_view encoded, const ImageOptions& options, std::size_t channels) {
  image::Image image = image::decode(encoded, {.channels = static_cast<image::Channels>(channels)});
  if (options.width == 0) return image;
  return image::resize(image, {options.width, options.height});
}

void add_pixels(const image::Image& image, const ImagePlace& place, ExampleBuilder& builder) {
  const auto add_size = [&](std::string_view name, std::size_t size) {
    builder.integers(fmt::format("{}{}", place.prefix, name), static_cast<std::int64_t>(size));
  };
  builder.bytes(place.column,
                {reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size()});
  add_size("height", image.height);
  add_size("width", image.width);
  add_size("channels", image.channels);
}

}  // namespace

void add_image(std::string_view encoded, const ImagePlace& place, const ImageOptions& options,
               std::size_t channels, ExampleBuilder& builder) {
  try {
    if (options.decode) {
      add_pixels(decode(encoded, options, channels), place, builder);
      return;
    }
    if (!options.trust) check_image(encoded);
    builder.bytes(place.column, encoded);
  } catch (const Error& error) {
    const char* const advice = options.decode ? "" : " (--trust-images takes it as it is)";
    throw Error(error.code(), error.message() + advice).at_file(place.file);
  }
}

std::string describe_settings(const ImageOptions& options) {
  if (!options.decode) return options.trust ? "images trusted" : "images checked";
  std::string text = "images decoded";
  if (options.channels != 0) text += fmt::format(" to {} channels", options.channels);
  if (options.width != 0) text += fmt::format(", {}x{}", options.width, options.height);
  return text;
}

}  // namespace infeed::tools
