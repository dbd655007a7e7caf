#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace infeed::image {

/// Converts `width` pixels of 1 to 4 channels to 1, 3 or 4 channels. If alpha isn't wanted, the
/// pixels are blended over the background, if there is one.
void convert_row(const std::uint8_t* from, std::size_t from_channels, std::uint8_t* to,
                 std::size_t to_channels, std::size_t width,
                 const std::optional<std::array<std::uint8_t, 3>>& background);

}  // namespace infeed::image
