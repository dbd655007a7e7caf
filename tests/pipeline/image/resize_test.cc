#include "infeed/image/resize.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <span>

#include <infeed/error.h>
#include <infeed/image/jitter.h>
#include <infeed/image/normalise.h>

#include "image/resample/resampler.h"
#include "pipeline/image/encoded_images.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using image::Filter;
using image::Image;
using image::resize;
using image::ResizedLine;
using image::ResizePlan;

Image grey_row(std::vector<std::uint8_t> pixels) {
  const std::size_t width = pixels.size();
  return {width, 1, 1, std::move(pixels)};
}

TEST(ImageResize, blends_what_a_pixel_covers_as_pillow_does) {
  // Image.fromarray(...).resize((7, 1), Image.BILINEAR)
  EXPECT_THAT(resize(grey_row({0, 100, 200}), {7, 1}).pixels,
              ElementsAre(0, 14, 57, 100, 143, 186, 200));
  EXPECT_THAT(resize(grey_row({10, 200, 30, 255, 0}), {2, 1}).pixels, ElementsAre(103, 120));
  const Image stripes = drawn_image(64, 4, 1);
  EXPECT_EQ(resize(stripes, {64, 4}).pixels, stripes.pixels);
  Image fine{64, 4, 1, {}};  // stripes of one pixel, all black in a resize without a filter
  for (int i = 0; i < 64 * 4; ++i) fine.pixels.push_back(i % 2 == 0 ? 0 : 255);
  for (const std::uint8_t pixel : resize(fine, {8, 2}).pixels) EXPECT_NEAR(pixel, 128, 5);
}

TEST(ImageResize, has_two_more_filters) {
  const Image row = grey_row({0, 0, 90, 255, 0, 30, 30, 30});
  EXPECT_THAT(resize(row, {4, 1}, Filter::area).pixels, ElementsAre(0, 173, 15, 30));
  EXPECT_THAT(resize(row, {3, 1}, Filter::area).pixels, ElementsAre(23, 111, 30));
  EXPECT_THAT(resize(row, {2, 1}, Filter::bilinear).pixels, ElementsAre(45, 30));
  EXPECT_THAT(resize(grey_row({10, 20}), {4, 1}, Filter::bilinear).pixels,
              ElementsAre(10, 13, 18, 20));
  EXPECT_THAT(resize(grey_row({10, 20}), {4, 1}, Filter::area).pixels, ElementsAre(10, 10, 20, 20));
}

/// Resizes by the definition, in doubles: the weighted mean of the pixels, one direction after the
/// other.
Image by_definition(const Image& image, image::Size size) {
  const auto weight = [](double in, double out, double to, double from) {
    const double scale = std::max(in / out, 1.0);
    return std::max(0.0, 1 - std::abs((to + 0.5) * in / out - from - 0.5) / scale);
  };
  Image result{size.width, size.height, image.channels, {}};
  for (std::size_t y = 0; y < size.height; ++y) {
    for (std::size_t x = 0; x < size.width; ++x) {
      for (std::size_t c = 0; c < image.channels; ++c) {
        double sum = 0;
        double weights = 0;
        for (std::size_t v = 0; v < image.height; ++v) {
          const double down =
              weight(double(image.height), double(size.height), double(y), double(v));
          if (down == 0) continue;
          for (std::size_t u = 0; u < image.width; ++u) {
            const double share =
                down * weight(double(image.width), double(size.width), double(x), double(u));
            sum += share * image.row(v)[u * image.channels + c];
            weights += share;
          }
        }
        result.pixels.push_back(static_cast<std::uint8_t>(sum / weights + 0.5));
      }
    }
  }
  return result;
}

TEST(ImageResize, is_within_one_of_the_definition) {
  for (const image::Size size : {image::Size{20, 33}, {61, 7}, {1, 1}, {100, 90}, {47, 31}}) {
    for (const std::size_t channels : {1, 2, 3, 4}) {
      const Image image = drawn_image(47, 31, channels);
      const Image expected = by_definition(image, size);
      const Image got = resize(image, size);
      ASSERT_EQ(got.pixels.size(), expected.pixels.size());
      for (std::size_t i = 0; i < got.pixels.size(); ++i) {
        ASSERT_NEAR(got.pixels[i], expected.pixels[i], 1) << size.width << " x " << size.height;
      }
    }
  }
}

TEST(ImageResize, weights_add_up_and_mirror) {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    const ResizedLine line{.begin = random() % 50,
                           .length = 1 + random() % (i % 10 == 0 ? 3000 : 90),
                           .pitch = std::size_t{1} << random() % 4,
                           .outputs = 1 + random() % 90};
    const auto filter = static_cast<Filter>(random() % 3);
    ResizePlan plan;
    plan_resize(line, filter, plan);
    for (std::size_t output = 0; output < plan.outputs; ++output) {
      int sum = 0;
      for (std::size_t group = 0; group < plan.groups; ++group) {
        for (std::size_t tap = 0; tap < ResizePlan::kGroup; ++tap) {
          const int weight = plan.weights_of(output, group)[tap];
          sum += weight;
          ASSERT_GE(weight, 0);
          if (weight > 0) {
            ASSERT_LE(plan.first[output] + group * ResizePlan::kGroup + tap, plan.last[output]);
          }
        }
      }
      ASSERT_EQ(sum, 1 << ResizePlan::kWeightBits);
      ASSERT_LT(plan.last[output], line.pixels());
    }
  }
  for (const Filter filter : {Filter::antialias, Filter::bilinear, Filter::area}) {
    for (const image::Size size : {image::Size{20, 9}, {55, 40}, {16, 8}}) {
      Image image = drawn_image(37, 23, 3);
      Image flipped_behind = resize(image, size, filter);
      image::flip(flipped_behind);
      image::flip(image);
      EXPECT_EQ(resize(image, size, filter), flipped_behind);
    }
  }
}

/// Keeps the rows that it gets.
class Kept final : public image::RowSink {
 public:
  explicit Kept(std::size_t row_bytes) : row_bytes_(row_bytes) {}
  void take(const std::uint8_t* row) noexcept override {
    bytes.insert(bytes.end(), row, row + row_bytes_);
  }
  std::vector<std::uint8_t> bytes;

 private:
  std::size_t row_bytes_;
};

TEST(ImageResize, every_processor_gives_the_same_bytes) {
  std::mt19937 random(12);
  for (int i = 0; i < 300; ++i) {
    const std::size_t channels = 1 + random() % 4;
    const ResizedLine across{.length = 1 + random() % 150, .outputs = 1 + random() % 120};
    const ResizedLine down{.length = 1 + random() % 60, .outputs = 1 + random() % 50};
    Image image = drawn_image(across.length, down.length, channels, static_cast<std::uint32_t>(i));
    image.pixels.resize(image.pixels.size() + image::kRowPadding);
    std::vector<std::vector<std::uint8_t>> results;
    for (const image::SimdLevel level : image::simd_levels()) {
      image::Resampler resampler(kernels_of(level));
      Kept kept(across.outputs * channels);
      resampler.begin(across, down, channels, Filter::antialias, kept);
      for (std::size_t y = 0; y < image.height; ++y) resampler.take(image.row(y));
      results.push_back(kept.bytes);
      EXPECT_EQ(kept.bytes.size(), across.outputs * down.outputs * channels);
      EXPECT_EQ(results.back(), results.front()) << static_cast<int>(level);
    }
  }
}

TEST(ImageResize, sizes_are_checked) {
  const Image image = drawn_image(8, 8, 3);
  EXPECT_THAT(error_of([&] {
                resize(image, {0, 5});
              }).message(),
              HasSubstr("an image of 8 x 8 can't be resized to 0 x 5: each side must be 1 to"));
  EXPECT_THAT(error_of([&] { resize({}, {5, 5}); }).message(), HasSubstr("an image of 0 x 0"));
  std::vector<std::uint8_t> out(10);
  EXPECT_THAT(error_of([&] {
                image::resize_into(image, {2, 2}, Filter::area, out);
              }).message(),
              HasSubstr("10 bytes are given for an image of 2 x 2 with 3 channels, which has 12"));
}

TEST(ImageOperations, images_without_their_pixels_are_refused) {
  const std::size_t far = std::size_t{1} << 62;
  const std::vector<Image> strange = {{4, 4, 3, {}},
                                      {4, 4, 3, std::vector<std::uint8_t>(47)},
                                      {4, 4, 3, std::vector<std::uint8_t>(49)},
                                      {4, 4, 0, {}},
                                      {1, 1, 5, std::vector<std::uint8_t>(5)},
                                      {far, 4, 1, {}},
                                      {far, 2, 4, {}}};
  for (const Image& image : strange) {
    std::vector<float> row(48);
    const std::vector<std::function<void(Image)>> operations = {
        [](Image taken) {
          resize(taken, {2, 2});
        },
        [](Image taken) { image::flip(taken); },
        [](Image taken) { image::turn_upright(taken, 6); },
        [](Image taken) { image::convert_channels(taken, 1); },
        [](Image taken) { image::adjust(taken, {.contrast = 2}); },
        [&](Image taken) { image::normalise(taken, {}, std::span(row)); }};
    for (const auto& operation : operations) {
      const Error error = error_of([&] { operation(image); });
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_THAT(error.message(), HasSubstr("but width x height x channels are expected"));
    }
  }
  Image empty;
  image::flip(empty);
  EXPECT_EQ(empty, Image());
}

TEST(ImageOperations, every_orientation_is_turned_upright) {
  // The stored form of an F of two columns in a file that a decoder must turn by that orientation.
  const std::array<std::pair<int, std::string>, 8> cases{{{1, "ab/cd/ef"},
                                                          {2, "ba/dc/fe"},
                                                          {3, "fe/dc/ba"},
                                                          {4, "ef/cd/ab"},
                                                          {5, "ace/bdf"},
                                                          {6, "bdf/ace"},
                                                          {7, "fdb/eca"},
                                                          {8, "eca/fdb"}}};
  for (const auto& [orientation, rows] : cases) {
    Image image{rows.find('/'), 0, 1, {}};
    for (const char c : rows) {
      if (c != '/') image.pixels.push_back(static_cast<std::uint8_t>(c));
    }
    image.height = image.pixels.size() / image.width;
    image::turn_upright(image, orientation);
    EXPECT_EQ(std::string(image.pixels.begin(), image.pixels.end()), "abcdef") << orientation;
    EXPECT_EQ(image.size(), (image::Size{2, 3}));
  }
}

TEST(ImageOperations, channels_are_converted) {
  const auto converted = [](std::size_t from, std::size_t to, const std::string& pixels) {
    Image image{pixels.size() / from, 1, from, {pixels.begin(), pixels.end()}};
    image::convert_channels(image, to);
    EXPECT_EQ(image.channels, to);
    return std::string(image.pixels.begin(), image.pixels.end());
  };
  const std::string rgb("\xff\0\0\x10\x20\x30", 6);
  EXPECT_EQ(converted(3, 1, rgb), "\x4c\x1d") << "0.299 of 255, and the weighted sum";
  EXPECT_EQ(converted(3, 4, rgb), std::string("\xff\0\0\xff\x10\x20\x30\xff", 8));
  EXPECT_EQ(converted(2, 1, "aAbB"), "ab");
  EXPECT_EQ(converted(2, 3, "aAbB"), "aaabbb");
  EXPECT_EQ(converted(2, 4, "aAbB"), "aaaAbbbB");
  EXPECT_EQ(converted(4, 3, "abcA"), "abc");
  EXPECT_EQ(converted(4, 4, "abcA"), "abcA");
  Image image = drawn_image(2, 2, 3);
  EXPECT_THAT(error_of([&] { image::convert_channels(image, 2); }).message(),
              HasSubstr("an image can have 1, 3 or 4 channels, but 2 are asked for"));
}

}  // namespace
}  // namespace infeed::test
