#include <array>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include <infeed/error.h>

#include "convert/images/image_check.h"
#include "convert/images/image_header.h"
#include "convert/images/image_operations.h"
#include "pipeline/image/encoded_images.h"

/// Headers, checks and operations on images, each alone.
namespace infeed::testing {
namespace {

using ::testing::HasSubstr;
using tools::DecodedImage;
using tools::ImageFormat;

/// One byte a pixel: "ab/cd" has two rows.
DecodedImage grey(const std::string& rows) {
  DecodedImage image{.height = 1, .width = rows.find('/'), .channels = 1, .pixels = {}};
  if (image.width == std::string::npos) image.width = rows.size();
  for (const char c : rows) c == '/' ? void(++image.height) : image.pixels.push_back(c);
  return image;
}

std::string rows_of(const DecodedImage& image) {
  std::string rows;
  for (std::size_t y = 0; y < image.height; ++y) {
    rows += (y == 0 ? "" : "/") + image.pixels.substr(y * image.width, image.width);
  }
  return rows;
}

TEST(ImageOperations, EveryOrientationIsTurnedUpright) {
  // How an F of two columns lies in a file that a decoder must turn by that orientation.
  const std::array<std::pair<int, std::string>, 8> cases{{{1, "ab/cd/ef"},
                                                          {2, "ba/dc/fe"},
                                                          {3, "fe/dc/ba"},
                                                          {4, "ef/cd/ab"},
                                                          {5, "ace/bdf"},
                                                          {6, "bdf/ace"},
                                                          {7, "fdb/eca"},
                                                          {8, "eca/fdb"}}};
  for (const auto& [orientation, lying] : cases) {
    EXPECT_EQ(rows_of(tools::turn_upright(grey(lying), orientation)), "ab/cd/ef") << orientation;
  }
}

TEST(ImageOperations, ChannelsAreConverted) {
  const DecodedImage rgb{1, 2, 3, std::string("\xff\0\0\x10\x20\x30", 6)};
  EXPECT_EQ(tools::with_channels(rgb, 1).pixels, "\x4c\x1d")
      << "0.299 of 255, and the weighted sum";
  EXPECT_EQ(tools::with_channels(rgb, 4).pixels, std::string("\xff\0\0\xff\x10\x20\x30\xff", 8));
  const DecodedImage grey_alpha{1, 2, 2, "aAbB"};
  EXPECT_EQ(tools::with_channels(grey_alpha, 1).pixels, "ab");
  EXPECT_EQ(tools::with_channels(grey_alpha, 3).pixels, "aaabbb");
  EXPECT_EQ(tools::with_channels(grey_alpha, 4).pixels, "aaaAbbbB");
  const DecodedImage rgba{1, 1, 4, "abcA"};
  EXPECT_EQ(tools::with_channels(rgba, 3).pixels, "abc");
  EXPECT_EQ(tools::with_channels(rgba, 4).pixels, "abcA");
}

TEST(ImageOperations, ResizingBlendsWhatAPixelCovers) {
  std::string stripes;  // of one pixel, which a resize without a filter would make all black
  for (int i = 0; i < 64 * 4; ++i) stripes.push_back(i % 2 == 0 ? '\0' : '\xff');
  const DecodedImage small = tools::resize({4, 64, 1, stripes}, 8, 2);
  ASSERT_EQ(small.pixels.size(), 16);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(static_cast<unsigned char>(small.pixels[i]), 128, 5) << i;
  }
  // By Pillow: Image.fromarray(...).resize((7, 1), Image.BILINEAR)
  EXPECT_EQ(tools::resize({1, 3, 1, std::string("\0\x64\xc8", 3)}, 7, 1).pixels,
            std::string("\0\x0e\x39\x64\x8f\xba\xc8", 7));
  EXPECT_EQ(tools::resize({1, 5, 1, std::string("\x0a\xc8\x1e\xff\0", 5)}, 2, 1).pixels,
            std::string("\x67\x78", 2));
  EXPECT_EQ(tools::resize({4, 2, 1, std::string("\x0a\xc8\x1e\xff\0\x64\x80\x07", 8)}, 3, 2).pixels,
            std::string("\x11\x71\xd1\x3b\x47\x52", 6));
  const DecodedImage rgb{2, 1, 3, "abcabc"};
  EXPECT_EQ(tools::resize(rgb, 2, 1).pixels, "abcabc");
}

TEST(ImageHeader, SaysWhatTheDecoderWillMake) {
  const auto header = tools::read_image_header(as_jpeg(16));
  EXPECT_EQ(header.format, ImageFormat::jpeg);
  EXPECT_EQ(header.width, 16);
  EXPECT_EQ(header.channels, 3);
  EXPECT_EQ(header.orientation, 1);
  const std::string wide = jpeg_of(1, 24, 8, std::vector<std::uint8_t>(24 * 8, 7));
  for (const bool is_big_endian : {false, true}) {
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const auto turned =
          tools::read_image_header(with_orientation(wide, orientation, is_big_endian));
      EXPECT_EQ(turned.orientation, orientation);
      EXPECT_EQ(turned.width, 24);
      EXPECT_EQ(turned.height, 8);
      EXPECT_EQ(turned.channels, 1);
    }
  }
  EXPECT_EQ(tools::read_image_header(with_orientation(wide, 9)).orientation, 1);
  const auto cmyk =
      tools::read_image_header(jpeg_of(4, 8, 8, std::vector<std::uint8_t>(8 * 8 * 4, 9)));
  EXPECT_TRUE(cmyk.is_cmyk);
  EXPECT_EQ(cmyk.channels, 3);
  const auto png = tools::read_image_header(as_png(9));
  EXPECT_EQ(png.format, ImageFormat::png);
  EXPECT_EQ(png.height, 9);
  EXPECT_EQ(png.channels, 3);
}

TEST(ImageHeader, OfDamagedImagesEndsInOrder) {
  std::mt19937 random(4);
  for (const std::string& whole : {as_png(16), with_orientation(as_jpeg(16), 6)}) {
    for (int i = 0; i < 3000; ++i) {
      std::string damaged = whole.substr(0, i % 5 == 0 ? random() % whole.size() : whole.size());
      for (int j = 0; j < 3 && !damaged.empty(); ++j) {
        damaged[random() % std::min<std::size_t>(damaged.size(), 100)] =
            static_cast<char>(random());
      }
      const auto header = tools::read_image_header(damaged);
      EXPECT_LE(header.channels, 4);
      EXPECT_GE(header.orientation, 1);
      EXPECT_LE(header.orientation, 8);
    }
  }
}

std::string check_error(const std::string& bytes) {
  try {
    tools::check_image(bytes);
    return "good";
  } catch (const Error& error) {
    return error.message();
  }
}

/// A GIF file of a pixel, with colours and an extension.
std::string gif() {
  return std::string("GIF89a\1\0\1\0\x80\0\0", 13) + "RGBrgb" +
         std::string("\x21\xf9\4\0\0\0\0\0", 8) +
         std::string("\x2c\0\0\0\0\1\0\1\0\0\2\2\x44\1\0\x3b", 16);
}

TEST(ImageCheck, FindsEveryCut) {
  const std::string bmp =
      "BM" + std::string("\x1e\0\0\0\0\0\0\0\x1a\0\0\0", 12) + std::string(16, 'p');
  const std::string webp =
      "RIFF" + std::string("\x0c\0\0\0", 4) + "WEBPVP8 " + std::string(4, '\0');
  for (const std::string& whole : {as_jpeg(32), as_png(32), gif(), bmp, webp}) {
    EXPECT_EQ(check_error(whole), "good") << whole.substr(0, 4);
    const bool is_png = whole.starts_with("\x89");
    for (std::size_t kept = 0; kept < whole.size() - (is_png               ? 12
                                                      : whole[0] == '\xff' ? 2
                                                                           : 0);
         kept += 3) {
      EXPECT_NE(check_error(whole.substr(0, kept)), "good") << whole.substr(0, 4) << kept;
    }
  }
  EXPECT_EQ(check_error(jpeg_of(4, 8, 8, std::vector<std::uint8_t>(8 * 8 * 4, 9))), "good");
  EXPECT_THAT(check_error(gif().substr(0, 30)), HasSubstr("the GIF image is cut: its 30 bytes"));
  EXPECT_THAT(check_error(gif().replace(19, 1, "?")), HasSubstr("damaged: at byte 19 is no block"));
  EXPECT_THAT(check_error("text"), HasSubstr("its 4 bytes don't begin like a JPEG"));
}

}  // namespace
}  // namespace infeed::testing
