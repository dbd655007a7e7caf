#include "convert/images/image_operations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace infeed::tools {
namespace {

struct Point {
  std::size_t x;
  std::size_t y;
};

/// The place in the image as it was (`width` x `height`) of a point of the upright one.
Point place_before(Point point, int orientation, std::size_t width, std::size_t height) {
  const auto [x, y] = point;
  switch (orientation) {
    case 2:
      return {width - 1 - x, y};
    case 3:
      return {width - 1 - x, height - 1 - y};
    case 4:
      return {x, height - 1 - y};
    case 5:
      return {y, x};
    case 6:
      return {y, height - 1 - x};
    case 7:
      return {width - 1 - y, height - 1 - x};
    case 8:
      return {width - 1 - y, x};
    default:
      return point;
  }
}

constexpr bool is_colour(std::size_t channels) { return channels >= 3; }
constexpr bool has_alpha(std::size_t channels) { return channels == 2 || channels == 4; }

char grey_of(const unsigned char* rgb) {
  constexpr std::uint32_t kRed = 19'595;  // 0.299 * 2^16
  constexpr std::uint32_t kGreen = 38'470;
  constexpr std::uint32_t kBlue = 7'471;
  constexpr std::uint32_t kHalf = 1U << 15;
  return static_cast<char>((kRed * rgb[0] + kGreen * rgb[1] + kBlue * rgb[2] + kHalf) >> 16);
}

/// Of which pixels, by which share, a pixel of the new row is made.
struct Blend {
  std::size_t first = 0;
  std::vector<std::int32_t> shares = {};  // of 2^kShareBits
};

constexpr unsigned kShareBits = 22;  // with 8 bits of a pixel and a sign they fit 32

/// A triangle over each new pixel's centre, as wide as two pixels of the coarser row.
std::vector<Blend> blends(std::size_t from, std::size_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(scale, 1.0);
  std::vector<Blend> result(to);
  for (std::size_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto begin = static_cast<std::size_t>(std::max(centre - support + 0.5, 0.0));
    const auto end = std::min(from, static_cast<std::size_t>(centre + support + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (std::size_t at = begin; at < end; ++at) {
      const double distance = std::abs((static_cast<double>(at) - centre + 0.5) * (1 / support));
      weights.push_back(std::max(1 - distance, 0.0));
      sum += weights.back();
    }
    result[i].first = begin;
    for (const double weight : weights) {
      result[i].shares.push_back(
          static_cast<std::int32_t>(0.5 + weight / sum * double(1U << kShareBits)));
    }
  }
  return result;
}

/// Blends lines of `step` bytes distance between neighbours.
char blend(const char* line, const Blend& blend, std::size_t step) {
  std::int32_t sum = 1 << (kShareBits - 1);
  const char* at = line + blend.first * step;
  for (const std::int32_t share : blend.shares) {
    sum += share * static_cast<unsigned char>(*at);
    at += step;
  }
  return static_cast<char>(std::clamp(sum >> kShareBits, 0, 255));
}

DecodedImage with_width(const DecodedImage& image, std::size_t width) {
  DecodedImage result{image.height, width, image.channels, {}};
  result.pixels.reserve(result.height * width * image.channels);
  const std::vector<Blend> columns = blends(image.width, width);
  for (std::size_t y = 0; y < image.height; ++y) {
    const char* const row = image.pixels.data() + y * image.width * image.channels;
    for (const Blend& column : columns) {
      for (std::size_t c = 0; c < image.channels; ++c) {
        result.pixels.push_back(blend(row + c, column, image.channels));
      }
    }
  }
  return result;
}

DecodedImage with_height(const DecodedImage& image, std::size_t height) {
  DecodedImage result{height, image.width, image.channels, {}};
  const std::size_t row_bytes = image.width * image.channels;
  result.pixels.reserve(height * row_bytes);
  for (const Blend& row : blends(image.height, height)) {
    for (std::size_t x = 0; x < row_bytes; ++x) {
      result.pixels.push_back(blend(image.pixels.data() + x, row, row_bytes));
    }
  }
  return result;
}

}  // namespace

DecodedImage turn_upright(DecodedImage image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const bool lies_on_a_side = orientation >= 5;
  DecodedImage result = image;
  if (lies_on_a_side) std::swap(result.width, result.height);
  char* out = result.pixels.data();
  for (std::size_t y = 0; y < result.height; ++y) {
    for (std::size_t x = 0; x < result.width; ++x) {
      const Point from = place_before({x, y}, orientation, image.width, image.height);
      std::memcpy(out, image.pixels.data() + (from.y * image.width + from.x) * image.channels,
                  image.channels);
      out += image.channels;
    }
  }
  return result;
}

DecodedImage with_channels(DecodedImage image, std::size_t channels) {
  if (image.channels == channels) return image;
  DecodedImage result{image.height, image.width, channels, {}};
  result.pixels.reserve(image.height * image.width * channels);
  const auto* at = reinterpret_cast<const unsigned char*>(image.pixels.data());
  for (std::size_t i = 0; i < image.height * image.width; ++i, at += image.channels) {
    if (!is_colour(channels)) {
      const bool was_colour = is_colour(image.channels);
      result.pixels.push_back(was_colour ? grey_of(at) : static_cast<char>(*at));
      continue;
    }
    for (std::size_t c = 0; c < 3; ++c) {
      result.pixels.push_back(static_cast<char>(is_colour(image.channels) ? at[c] : at[0]));
    }
    if (!has_alpha(channels)) continue;
    result.pixels.push_back(has_alpha(image.channels) ? static_cast<char>(at[image.channels - 1])
                                                      : '\xff');
  }
  return result;
}

DecodedImage resize(DecodedImage image, std::size_t width, std::size_t height) {
  // The direction that shrinks more comes first and leaves less for the other.
  const bool rows_first = height * image.width < image.height * width;
  if (rows_first && image.height != height) image = with_height(image, height);
  if (image.width != width) image = with_width(image, width);
  if (image.height != height) image = with_height(image, height);
  return image;
}

}  // namespace infeed::tools
