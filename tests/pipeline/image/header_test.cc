#include "infeed/image/header.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

#include "pipeline/image/encoded_images.h"

namespace infeed::test {
namespace {

using image::ImageFormat;
using image::read_header;

TEST(ImageHeader, says_what_the_decoder_will_make) {
  const auto header = read_header(as_jpeg(16));
  EXPECT_EQ(header.format, ImageFormat::jpeg);
  EXPECT_EQ(header.width, 16U);
  EXPECT_EQ(header.channels, 3U);
  EXPECT_EQ(header.bits, 8U);
  EXPECT_EQ(header.orientation, 1);
  EXPECT_FALSE(header.is_progressive);
  EXPECT_TRUE(read_header(as_jpeg(drawn_image(9, 9, 3), {.is_progressive = true})).is_progressive);
  const auto cmyk = read_header(jpeg_of(4, 8, 8, std::vector<std::uint8_t>(8 * 8 * 4, 9)));
  EXPECT_TRUE(cmyk.is_cmyk);
  EXPECT_EQ(cmyk.channels, 3U);
  const auto png = read_header(as_png(9));
  EXPECT_EQ(png.format, ImageFormat::png);
  EXPECT_EQ(png.height, 9U);
  EXPECT_EQ(png.channels, 3U);
  EXPECT_EQ(read_header(png_of(PNG_FORMAT_LINEAR_Y, 1, 1, "\x12\x34")).bits, 16U);
}

/// Looks at an image of 24 x 8 pixels in each orientation, as `turned(orientation, is_big_endian)` makes it.
void expect_orientations(const auto& turned) {
  for (const bool is_big_endian : {false, true}) {
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const auto header = read_header(turned(orientation, is_big_endian));
      EXPECT_EQ(header.orientation, orientation);
      EXPECT_EQ(header.width, 24U);
      EXPECT_EQ(header.channels, 1U);
      const image::Size upright = orientation < 5 ? image::Size{24, 8} : image::Size{8, 24};
      EXPECT_EQ(header.upright_size(), upright);
    }
    EXPECT_EQ(read_header(turned(9, is_big_endian)).orientation, 1);
  }
}

TEST(ImageHeader, knows_how_an_image_lies) {
  const std::string jpeg = jpeg_of(1, 24, 8, std::vector<std::uint8_t>(24 * 8, 7));
  const std::string png = png_of(PNG_FORMAT_GRAY, 24, 8, std::string(24 * 8, '\7'));
  expect_orientations([&](int orientation, bool is_big_endian) {
    return with_orientation(jpeg, orientation, is_big_endian);
  });
  for (const ExifPlace place : {ExifPlace::before_pixels, ExifPlace::behind_pixels}) {
    expect_orientations([&](int orientation, bool is_big_endian) {
      return png_with_orientation(png, orientation, is_big_endian, place);
    });
  }
}

TEST(ImageHeader, takes_an_orientation_of_32_bits) {
  for (const bool is_big_endian : {false, true}) {
    std::string jpeg = with_orientation(as_jpeg(16), 6, is_big_endian);
    const std::size_t entry = jpeg.find("Exif") + 6 + 8 + 2;
    jpeg.replace(entry + 2, 2, is_big_endian ? std::string("\0\4", 2) : std::string("\4\0", 2));
    jpeg.replace(entry + 8, 4,
                 is_big_endian ? std::string("\0\0\0\6", 4) : std::string("\6\0\0\0", 4));
    EXPECT_EQ(read_header(jpeg).orientation, 6) << is_big_endian;
  }
}

TEST(ImageHeader, takes_the_orientation_from_the_first_exif_segment) {
  // The second segment goes on with Exif data that is too long for one.
  const std::string continued = with_orientation(with_orientation(as_jpeg(16), 1), 6);
  EXPECT_EQ(read_header(continued).orientation, 6);
}

TEST(ImageHeader, passes_over_stray_and_fill_bytes) {
  const std::string empty_segment("\xff\xe0\0\2", 4);
  const std::string jpeg = with_orientation(as_jpeg(drawn_image(24, 8, 3)), 6);
  for (const std::string& stray : {std::string(1, '\0'), std::string("\xff\xff\0\xff", 4),
                                   std::string(5000, 'x'), std::string(5000, '\xff')}) {
    const auto header = read_header(jpeg.substr(0, 2) + empty_segment + stray + jpeg.substr(2));
    EXPECT_EQ(header.orientation, 6);
    EXPECT_EQ(header.width, 24U);
  }
}

TEST(ImageHeader, of_endless_segments_and_fill_bytes_takes_few_reads) {
  constexpr std::uint64_t kImageBytes = 60 << 20;
  for (const std::string& repeated : {std::string(4, '\xff'), std::string("\xff\xe0\0\2", 4)}) {
    int reads = 0;
    const auto header = read_header([&](std::uint64_t offset, std::span<char> into) -> std::size_t {
      ++reads;
      for (std::size_t i = 0; i < into.size(); ++i) {
        const std::uint64_t at = offset + i;
        if (at >= kImageBytes) return i;
        into[i] = at < 2 ? "\xff\xd8"[at] : repeated[(at - 2) % repeated.size()];
      }
      return into.size();
    });
    EXPECT_EQ(header.format, ImageFormat::jpeg);
    EXPECT_EQ(header.width, 0U);
    EXPECT_LT(reads, 30'000);
  }
}

TEST(ImageHeader, is_the_same_by_reads) {
  for (const std::string& whole :
       {as_png(16), with_orientation(as_jpeg(16), 6), png_with_orientation(as_png(16), 6),
        png_with_orientation(as_png(16), 6, true, ExifPlace::behind_pixels)}) {
    std::size_t bytes_read = 0;
    const auto header = read_header([&](std::uint64_t offset, std::span<char> into) -> std::size_t {
      if (offset >= whole.size()) return 0;
      const std::size_t count = std::min(into.size(), whole.size() - offset);
      std::memcpy(into.data(), whole.data() + offset, count);
      bytes_read += count;
      return count;
    });
    const auto expected = read_header(whole);
    EXPECT_EQ(header.upright_size(), expected.upright_size());
    EXPECT_EQ(header.orientation, expected.orientation);
    EXPECT_EQ(header.channels, expected.channels);
    EXPECT_LT(bytes_read, 200U);
  }
}

TEST(ImageHeader, of_damaged_images_ends_in_order) {
  std::mt19937 random(4);
  for (const std::string& whole :
       {as_png(16), with_orientation(as_jpeg(16), 6), png_with_orientation(as_png(16), 6)}) {
    for (int i = 0; i < 3000; ++i) {
      std::string damaged = whole.substr(0, i % 5 == 0 ? random() % whole.size() : whole.size());
      for (int j = 0; j < 3 && !damaged.empty(); ++j) {
        damaged[random() % std::min<std::size_t>(damaged.size(), 100)] =
            static_cast<char>(random());
      }
      const auto header = read_header(damaged);
      EXPECT_LE(header.channels, 4U);
      EXPECT_GE(header.orientation, 1);
      EXPECT_LE(header.orientation, 8);
    }
  }
}

TEST(ImageHeader, knows_formats_by_bytes_and_by_name) {
  EXPECT_EQ(image::format_of("GIF89a"), ImageFormat::gif);
  EXPECT_EQ(image::format_of("BM1234"), ImageFormat::bmp);
  EXPECT_EQ(image::format_of("RIFF1234WEBP"), ImageFormat::webp);
  EXPECT_EQ(image::format_of("RIFF"), ImageFormat::unknown);
  EXPECT_TRUE(image::is_image_extension("JPG"));
  EXPECT_FALSE(image::is_image_extension("txt"));
}

}  // namespace
}  // namespace infeed::test
