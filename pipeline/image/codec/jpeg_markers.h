#pragma once

#include <cstddef>
#include <string_view>

namespace infeed::image {

/// Returns how many scans a JPEG has, or a number over `count_max` as soon as there are more. It
/// goes from marker to marker, and stops where there is none.
std::size_t count_jpeg_scans(std::string_view jpeg, std::size_t count_max);

}  // namespace infeed::image
