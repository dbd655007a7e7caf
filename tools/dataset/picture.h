#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"

/// Why: whether an image is upside down, inverted or of the wrong class is seen at a glance, on the
/// machine where the data is.
namespace infeed::tools {

/// Three bytes a pixel, row by row.
struct Picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> rgb;
};

/// The image in a column of an Example: PNG or JPEG, or raw pixels, grey or three bytes each, that
/// are square or have `size` ("28x28", "32x32x3"). Throws invalid_argument: what it is instead.
Picture decode_picture(std::string_view example, const std::string& column,
                       const std::string& size);

/// With two pixels a character in colours; in characters of different darkness without.
std::vector<std::string> draw(const Picture& picture, const Terminal& terminal);

}  // namespace infeed::tools
