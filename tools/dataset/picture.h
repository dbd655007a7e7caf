#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"

/// Why: one look at an image shows that it is upside down, inverted or of the wrong class, on the
/// machine where the data is.
namespace infeed::tools {

/// An image of three bytes a pixel, row by row.
struct Picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> rgb;
};

/// Returns the image in a column of an Example: PNG or JPEG, or raw pixels, grey or three bytes
/// each, that are square or have `size` ("28x28", "32x32x3"). Throws invalid_argument that
/// describes other content.
Picture decode_picture(std::string_view example, const std::string& column,
                       const std::string& size);

/// Draws two pixels a character in colours; without colours, characters of different darkness.
std::vector<std::string> draw(const Picture& picture, const Terminal& terminal);

}  // namespace infeed::tools
