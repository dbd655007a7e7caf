#include "infeed/image/decode.h"

#include <array>
#include <random>

#include <infeed/error.h>
#include <infeed/image/resize.h>

#include "pipeline/image/encoded_images.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using image::Channels;
using image::decode;
using image::Image;

std::string error_text(std::string_view bytes) {
  return error_of([&] { decode(bytes); }).message();
}

std::string as_text(const Image& image) { return {image.pixels.begin(), image.pixels.end()}; }

double mean_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.size(), b.size());
  EXPECT_EQ(a.channels, b.channels);
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) sum += std::abs(a.pixels[i] - b.pixels[i]);
  return sum / static_cast<double>(a.pixels.size());
}

TEST(ImageDecode, png_of_each_format_gives_its_pixels_back) {
  std::mt19937 random(5);
  const std::array<std::pair<png_uint_32, std::size_t>, 4> formats{
      {{PNG_FORMAT_GRAY, 1}, {PNG_FORMAT_GA, 2}, {PNG_FORMAT_RGB, 3}, {PNG_FORMAT_RGBA, 4}}};
  for (const auto& [format, channels] : formats) {
    std::string pixels(5 * 7 * channels, '\0');
    for (char& c : pixels) c = static_cast<char>(random());
    const Image image = decode(png_of(format, 5, 7, pixels), {.channels = Channels::as_in_file});
    EXPECT_EQ(image.size(), (image::Size{5, 7}));
    EXPECT_EQ(image.channels, channels);
    EXPECT_EQ(as_text(image), pixels);
  }
}

TEST(ImageDecode, channels_are_those_asked_for) {
  const auto decoded = [](png_uint_32 format, const std::string& pixel, Channels channels) {
    return as_text(decode(png_of(format, 1, 1, pixel), {.channels = channels}));
  };
  EXPECT_EQ(decoded(PNG_FORMAT_RGB, "\xff" + std::string(2, '\0'), Channels::grey), "\x4c");
  EXPECT_EQ(decoded(PNG_FORMAT_RGB, "abc", Channels::rgba), "abc\xff");
  EXPECT_EQ(decoded(PNG_FORMAT_GRAY, "a", Channels::rgb), "aaa");
  EXPECT_EQ(decoded(PNG_FORMAT_GA, "a\x80", Channels::rgb), "aaa") << "alpha is dropped";
  EXPECT_EQ(decoded(PNG_FORMAT_GA, "a\x80", Channels::rgba), "aaa\x80");
  EXPECT_EQ(decoded(PNG_FORMAT_RGBA, "abc\x01", Channels::rgb), "abc");
  EXPECT_EQ(as_text(decode(as_jpeg(8), {.channels = Channels::rgba})).substr(3, 1), "\xff");
  EXPECT_EQ(decode(as_jpeg(8), {.channels = Channels::grey}).channels, 1U);
}

TEST(ImageDecode, interlaced_png_gives_its_pixels_back) {
  const Image rgb = drawn_image(21, 13, 3);
  const std::string png = raw_png(21, 13, 8, PNG_COLOR_TYPE_RGB, true, as_text(rgb));
  EXPECT_EQ(decode(png), rgb);
  EXPECT_EQ(image::decode_crop(png, {2, 5, 1, 1}).pixels[0], rgb.row(5)[6]);
  EXPECT_THAT(error_text(png.substr(0, png.size() - 30)), HasSubstr("PNG image can't be decoded"));
}

TEST(ImageDecode, png_of_other_depths_has_8_bits) {
  const auto pixels = [](const std::string& png) {
    return as_text(decode(png, {.channels = Channels::as_in_file}));
  };
  EXPECT_EQ(pixels(raw_png(2, 1, 16, PNG_COLOR_TYPE_GRAY, false, "\x12\xff\xab\x01")), "\x12\xab")
      << "the upper half, as TensorFlow and Pillow take it";
  EXPECT_EQ(pixels(raw_png(9, 1, 1, PNG_COLOR_TYPE_GRAY, false, "\x81\x80")),
            std::string("\xff\0\0\0\0\0\0\xff\xff", 9));
  EXPECT_EQ(pixels(raw_png(2, 1, 4, PNG_COLOR_TYPE_GRAY, false, "\x1f")), "\x11\xff");
}

TEST(ImageDecode, an_image_without_tables_takes_none_of_the_image_before) {
  const std::string whole = as_jpeg(drawn_image(16, 16, 3), {.is_progressive = true});
  std::string bare = whole.substr(0, 2);
  for (std::size_t at = 2; at < whole.size();) {
    const auto marker = static_cast<unsigned char>(whole[at + 1]);
    const std::size_t size = 2 + (std::size_t{static_cast<unsigned char>(whole[at + 2])} << 8 |
                                  static_cast<unsigned char>(whole[at + 3]));
    if (marker == 0xDA) {
      bare += whole.substr(at);
      break;
    }
    if (marker != 0xC4) bare += whole.substr(at, size);
    at += size;
  }
  decode(whole);
  EXPECT_THAT(error_text(bare), HasSubstr("Huffman table 0x00 was not defined"));
}

TEST(ImageDecode, what_is_transparent_may_lie_over_a_background) {
  const std::string png = png_of(PNG_FORMAT_RGBA, 2, 1, std::string("\0\0\0\xff\xc8\0\0\x80", 8));
  EXPECT_EQ(as_text(decode(png, {.background = {{255, 255, 255}}})),
            std::string("\0\0\0\xe3\x7f\x7f", 6));
  EXPECT_EQ(decode(png, {.channels = Channels::rgba, .background = {{255, 255, 255}}}).pixels[7],
            0x80)
      << "alpha that is asked for stays";
  EXPECT_EQ(decode(png, {.channels = Channels::grey, .background = {{0, 0, 0}}}).pixels[1], 30);
}

TEST(ImageDecode, jpeg_gives_about_its_pixels) {
  const Image rgb = drawn_image(61, 47, 3);
  for (const JpegKind& kind :
       {JpegKind{.sampling = 1}, JpegKind{.is_progressive = true, .sampling = 1},
        JpegKind{.sampling = 1, .restart_rows = 1},
        JpegKind{.sampling = 1, .is_arithmetic = true}}) {
    EXPECT_LT(mean_difference(decode(as_jpeg(rgb, kind)), rgb), 1);
  }
  const Image grey = drawn_image(61, 47, 1);
  EXPECT_LT(mean_difference(decode(as_jpeg(grey), {.channels = Channels::grey}), grey), 1);
  const Image three = decode(as_jpeg(grey));
  EXPECT_EQ(three.channels, 3U);
  EXPECT_EQ(three.pixels[3], three.pixels[5]);
  EXPECT_EQ(decode(as_jpeg(grey), {.channels = Channels::as_in_file}).channels, 1U);
}

TEST(ImageDecode, cmyk_becomes_rgb) {
  std::vector<std::uint8_t> ink;  // inverted: full cyan, no magenta and yellow, half of black
  for (int i = 0; i < 64; ++i) ink.insert(ink.end(), {0, 255, 255, 128});
  EXPECT_EQ(as_text(decode(jpeg_of(4, 8, 8, ink))).substr(0, 3), std::string("\0\x80\x80", 3));
  EXPECT_EQ(decode(jpeg_of(4, 8, 8, ink), {.channels = Channels::grey}).pixels[0], 90);
  for (std::uint8_t& value : ink) value = static_cast<std::uint8_t>(255 - value);
  const JpegKind plain{.has_adobe_marker = false};
  EXPECT_EQ(as_text(decode(jpeg_of(4, 8, 8, ink, plain))).substr(0, 3),
            std::string("\0\x80\x80", 3));
}

TEST(ImageDecode, every_orientation_stands_upright_unless_it_is_not_wanted) {
  const Image upright = decode(as_jpeg(drawn_image(40, 24, 3), {.sampling = 1}));
  // The form in which an image must be stored so that the orientation sets it upright: turned back.
  const std::array<int, 9> back{0, 1, 2, 3, 4, 5, 8, 7, 6};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Image lying = upright;
    image::turn_upright(lying, back.at(static_cast<std::size_t>(orientation)));
    const std::string jpeg =
        with_orientation(as_jpeg(lying, {.sampling = 1}), orientation, orientation % 2 == 0);
    EXPECT_LT(mean_difference(decode(jpeg), upright), 1) << orientation;
    EXPECT_LT(mean_difference(decode(jpeg, {.upright = false}), lying), 1) << orientation;
    for (const bool is_interlaced : {false, true}) {
      const auto place = is_interlaced ? ExifPlace::behind_pixels : ExifPlace::before_pixels;
      const std::string png = png_with_orientation(
          raw_png(static_cast<unsigned>(lying.width), static_cast<unsigned>(lying.height), 8,
                  PNG_COLOR_TYPE_RGB, is_interlaced, as_text(lying)),
          orientation, orientation % 2 == 0, place);
      EXPECT_EQ(decode(png), upright) << orientation;
      EXPECT_EQ(decode(png, {.upright = false}), lying) << orientation;
      const image::Rect crop{9, 2, 7, 13};
      const Image part = image::decode_crop(png, crop);
      ASSERT_EQ(part.size(), (image::Size{crop.width, crop.height}));
      for (std::size_t y = 0; y < crop.height; ++y) {
        const std::uint8_t* const row = upright.row(y + crop.top) + crop.left * 3;
        EXPECT_TRUE(std::equal(row, row + part.row_bytes(), part.row(y))) << orientation;
      }
    }
  }
}

TEST(ImageDecode, a_crop_is_that_part_of_the_whole) {
  std::mt19937 random(7);
  for (const int sampling : {1, 2}) {
    for (const bool is_progressive : {false, true}) {
      for (const int orientation : {1, 3, 6, 7}) {
        const std::string jpeg = with_orientation(
            as_jpeg(drawn_image(131, 97, 3),
                    {.quality = 85, .is_progressive = is_progressive, .sampling = sampling}),
            orientation);
        const Image whole = decode(jpeg);
        for (int i = 0; i < 40; ++i) {
          image::Rect crop;
          crop.width = 1 + random() % (i % 2 == 0 ? whole.width : 5);
          crop.height = 1 + random() % (i % 4 < 2 ? whole.height : 5);
          crop.left = random() % (whole.width - crop.width + 1);
          crop.top = random() % (whole.height - crop.height + 1);
          const Image part = image::decode_crop(jpeg, crop);
          ASSERT_EQ(part.size(), (image::Size{crop.width, crop.height}));
          for (std::size_t y = 0; y < crop.height; ++y) {
            const std::uint8_t* const row = whole.row(y + crop.top) + crop.left * 3;
            ASSERT_TRUE(std::equal(row, row + part.row_bytes(), part.row(y)))
                << "row " << y << " of " << crop.width << " x " << crop.height << " at "
                << crop.left << ", " << crop.top << ", orientation " << orientation;
          }
        }
      }
    }
  }
}

TEST(ImageDecode, a_crop_of_a_png_too) {
  const std::string png = png_of(PNG_FORMAT_RGB, 4, 3, "aaabbbcccdddeeefffggghhhiiijjjkkklll");
  EXPECT_EQ(as_text(image::decode_crop(png, {1, 1, 2, 2})), "fffgggjjjkkk");
  EXPECT_EQ(as_text(image::decode_crop(png, {0, 2, 4, 1})), "iiijjjkkklll");
  // Bytes behind the crop aren't looked at.
  std::string noise(160 * 160 * 3, '\0');
  std::mt19937 random(3);
  for (char& c : noise) c = static_cast<char>(random());
  const std::string large = png_of(PNG_FORMAT_RGB, 160, 160, noise);
  const std::string cut = large.substr(0, large.size() / 2);
  EXPECT_EQ(as_text(image::decode_crop(cut, {0, 0, 160, 8})), noise.substr(0, 160 * 8 * 3));
  EXPECT_THAT(error_text(cut), HasSubstr("the PNG image can't be decoded"));
}

TEST(ImageDecode, a_crop_outside_is_refused) {
  for (const image::Rect& crop :
       {image::Rect{0, 0, 17, 1}, image::Rect{16, 0, 1, 1}, image::Rect{0, 0, 0, 3},
        image::Rect{1, 1, ~std::size_t{0}, 1}, image::Rect{~std::size_t{0}, 0, 2, 2}}) {
    const Error error = error_of([&] { image::decode_crop(as_jpeg(16), crop); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("is no part of an image of 16 x 16"));
  }
}

TEST(ImageDecode, cut_and_damaged_images_are_errors) {
  const std::string png = as_png(64);
  const std::string jpeg = as_jpeg(64);
  for (std::size_t kept = 4; kept + 2 < jpeg.size(); kept += 7) {
    EXPECT_THAT(error_text(jpeg.substr(0, kept)), HasSubstr("JPEG image can't be decoded")) << kept;
  }
  // Without its end chunk alone (12 bytes) an image is still whole.
  for (std::size_t kept = 8; kept + 12 < png.size(); kept += 3) {
    EXPECT_THAT(error_text(png.substr(0, kept)), HasSubstr("PNG image can't be decoded")) << kept;
  }
  EXPECT_EQ(error_of([&] { decode(jpeg.substr(0, 200)); }).code(), ErrorCode::data_loss);
  EXPECT_THAT(error_text("GIF89a"), HasSubstr("only JPEG and PNG"));
  EXPECT_EQ(error_of([&] { decode("GIF89a"); }).code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error_text(""), HasSubstr("its 0 bytes"));
}

TEST(ImageDecode, whatever_bytes_come_back_as_an_image_or_an_error) {
  const Image rgb = drawn_image(48, 40, 3);
  const std::array<std::string, 4> images{
      as_png(48), as_jpeg(rgb), as_jpeg(rgb, {.is_progressive = true}),
      with_orientation(jpeg_of(4, 16, 16, std::vector<std::uint8_t>(1024, 9)), 6)};
  std::mt19937 random(6);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = images.at(static_cast<std::size_t>(i) % images.size());
    for (int j = 0; j < 3; ++j) damaged[random() % damaged.size()] = static_cast<char>(random());
    for (const bool refuse_damaged : {false, true}) {
      try {
        const Image image =
            decode(damaged, {.refuse_damaged = refuse_damaged, .limits = {.pixels_max = 1 << 16}});
        EXPECT_EQ(image.pixels.size(), image.width * image.height * 3);
      } catch (const Error& error) {
        EXPECT_NE(error.message(), "");
      }
    }
  }
  // The same thread goes on with good images.
  EXPECT_EQ(decode(as_jpeg(rgb)).size(), rgb.size());
}

TEST(ImageDecode, damage_may_be_tolerated) {
  const Image rgb = drawn_image(64, 64, 3);
  const std::string jpeg = as_jpeg(rgb, {.sampling = 1});
  const std::string cut = jpeg.substr(0, jpeg.size() / 2);
  const Image half = decode(cut, {.refuse_damaged = false});
  EXPECT_EQ(half.size(), rgb.size());
  EXPECT_NEAR(half.row(0)[0], rgb.row(0)[0], 4);
  EXPECT_EQ(half.row(63)[3 * 63], 128) << "what is missing is grey";
}

TEST(ImageDecode, previews_are_smaller) {
  const std::string jpeg = as_jpeg(drawn_image(200, 100, 3));
  EXPECT_EQ(decode(jpeg, {.jpeg_width_max = 60}).size(), (image::Size{50, 25}));
  EXPECT_EQ(decode(jpeg, {.jpeg_width_max = 1}).size(), (image::Size{25, 13}));
  EXPECT_EQ(decode(jpeg, {.jpeg_width_max = 200}).size(), (image::Size{200, 100}));
  const std::string odd = as_jpeg(drawn_image(121, 60, 3));
  EXPECT_EQ(decode(odd, {.jpeg_width_max = 61}).size(), (image::Size{61, 30}));
  EXPECT_EQ(decode(odd, {.jpeg_width_max = 60}).size(), (image::Size{31, 15})) << "61 is wider";
}

TEST(ImageDecode, previews_are_as_wide_as_the_upright_image) {
  const std::string on_a_side = with_orientation(as_jpeg(drawn_image(200, 100, 3)), 6);
  EXPECT_EQ(decode(on_a_side, {.jpeg_width_max = 100}).size(), (image::Size{100, 200}));
  EXPECT_EQ(decode(on_a_side, {.jpeg_width_max = 99}).size(), (image::Size{50, 100}));
  EXPECT_EQ(decode(on_a_side, {.upright = false, .jpeg_width_max = 100}).size(),
            (image::Size{100, 50}));
}

TEST(ImageDecode, memory_is_used_again) {
  Image image;
  image::decode_into(as_jpeg(drawn_image(64, 64, 3)), {}, image);
  const std::uint8_t* const pixels = image.pixels.data();
  image::decode_into(as_jpeg(drawn_image(32, 60, 3)), {}, image);
  EXPECT_EQ(image.pixels.data(), pixels);
  EXPECT_EQ(image.size(), (image::Size{32, 60}));
}

}  // namespace
}  // namespace infeed::test
