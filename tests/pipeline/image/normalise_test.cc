#include "infeed/image/normalise.h"

#include <limits>

#include <infeed/error.h>
#include <infeed/image/jitter.h>

#include "image/batch_rows.h"
#include "pipeline/image/encoded_images.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using image::Image;
using image::Layout;
using image::normalise;

TEST(Normalise, gives_numbers_around_0) {
  const Image image{2, 1, 3, {0, 255, 124, 51, 0, 255}};
  std::vector<float> row(6);
  normalise(image, {}, std::span(row));
  EXPECT_FLOAT_EQ(row[0], -0.485F / 0.229F);
  EXPECT_FLOAT_EQ(row[1], (1 - 0.456F) / 0.224F);
  EXPECT_FLOAT_EQ(row[3], (0.2F - 0.485F) / 0.229F);
  normalise(image, {.mean = {0, 0, 0}, .deviation = {1, 1, 1}}, std::span(row));
  EXPECT_FLOAT_EQ(row[1], 1);
  std::vector<bfloat16> half(6);
  normalise(image, {.mean = {0, 0, 0}, .deviation = {1, 1, 1}}, std::span(half));
  EXPECT_EQ(static_cast<float>(half[3]), static_cast<float>(bfloat16(51.0F / 255)));
  const Image grey{1, 1, 1, {51}};
  normalise(grey, {.mean = {0.1F, 9, 9}, .deviation = {0.5F, 9, 9}}, std::span(row).first(1));
  EXPECT_FLOAT_EQ(row[0], 0.2F);
}

TEST(Normalise, puts_channels_first_where_it_is_told) {
  const Image image{2, 2, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  std::vector<std::uint8_t> row(12);
  normalise(image, {.layout = Layout::nchw}, std::span(row));
  EXPECT_THAT(row, ElementsAre(1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12));
  normalise(image, {.layout = Layout::nhwc}, std::span(row));
  EXPECT_EQ(row, image.pixels);
}

TEST(Normalise, every_processor_gives_the_same_bits) {
  const Image image = drawn_image(101, 3, 3);
  for (const Layout layout : {Layout::nhwc, Layout::nchw}) {
    std::vector<std::vector<float>> floats;
    std::vector<std::vector<bfloat16>> halves;
    for (const image::SimdLevel level : image::simd_levels()) {
      const image::Normalisation how{.layout = layout};
      floats.emplace_back(image.pixels.size());
      image::BatchRows<float> rows(image.size(), 3, how, false, floats.back(), kernels_of(level));
      halves.emplace_back(image.pixels.size());
      image::BatchRows<bfloat16> half(image.size(), 3, how, false, halves.back(),
                                      kernels_of(level));
      for (std::size_t y = 0; y < image.height; ++y) {
        rows.take(image.row(y));
        half.take(image.row(y));
      }
      EXPECT_EQ(floats.back(), floats.front());
      EXPECT_EQ(halves.back(), halves.front());
    }
  }
}

TEST(Normalise, sizes_are_checked) {
  std::vector<float> row(5);
  EXPECT_THAT(error_of([&] { normalise(drawn_image(2, 2, 3), {}, std::span(row)); }).message(),
              HasSubstr("the row has 5 values, but an image of 2 x 2 with 3 channels has 12"));
  EXPECT_THAT(error_of([&] { normalise(drawn_image(2, 2, 4), {}, std::span(row)); }).message(),
              HasSubstr("an image with 4 channels can't become a row of a batch"));
}

TEST(Normalise, means_and_deviations_are_checked) {
  const Image image{1, 1, 3, {1, 2, 3}};
  std::vector<float> row(3);
  const auto refused = [&](const image::Normalisation& how) {
    const Error error = error_of([&] { normalise(image, how, std::span(row)); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.message();
  };
  EXPECT_EQ(refused({.mean = {0, 0, 0.5F}, .deviation = {1, 1, 0}}),
            "channel 2 can't be normalised with the mean 0.5 and the deviation 0: finite numbers "
            "are expected, and a deviation above 0");
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float deviation : {-1.0F, 1e-44F, infinity, nan}) {
    EXPECT_THAT(refused({.deviation = {1, deviation, 1}}), HasSubstr("channel 1")) << deviation;
  }
  for (const float mean : {infinity, nan}) {
    EXPECT_THAT(refused({.mean = {mean, 0, 0}}), HasSubstr("channel 0")) << mean;
  }
  std::vector<bfloat16> half(3);
  EXPECT_EQ(error_of([&] {
              normalise(image, {.deviation = {0, 0, 0}}, std::span(half));
            }).code(),
            ErrorCode::invalid_argument);
  std::vector<std::uint8_t> bytes(3);
  normalise(image, {.deviation = {0, 0, 0}}, std::span(bytes));
  EXPECT_EQ(bytes, image.pixels) << "bytes aren't normalised";
}

TEST(ColourJitter, changes_brightness_contrast_and_saturation) {
  const auto adjusted = [](const image::ColourFactors& factors) {
    Image image{2, 1, 3, {10, 20, 30, 200, 100, 250}};
    image::adjust(image, factors);
    return image.pixels;
  };
  EXPECT_THAT(adjusted({}), ElementsAre(10, 20, 30, 200, 100, 250));
  EXPECT_THAT(adjusted({.brightness = 1.5F}), ElementsAre(15, 30, 45, 255, 150, 255));
  EXPECT_THAT(adjusted({.brightness = 0}), ElementsAre(0, 0, 0, 0, 0, 0));
  // Grey is 18 and 147, 83 on average.
  EXPECT_THAT(adjusted({.contrast = 0}), ElementsAre(83, 83, 83, 83, 83, 83));
  EXPECT_THAT(adjusted({.contrast = 0.5F}), ElementsAre(47, 52, 57, 142, 92, 167));
  EXPECT_THAT(adjusted({.saturation = 0}), ElementsAre(18, 18, 18, 147, 147, 147));
  EXPECT_THAT(adjusted({.saturation = 2}), ElementsAre(2, 22, 42, 253, 53, 255));
  Image grey{2, 1, 2, {100, 7, 50, 7}};
  image::adjust(grey, {.brightness = 2, .saturation = 0});
  EXPECT_THAT(grey.pixels, ElementsAre(200, 7, 100, 7)) << "alpha stays";
}

TEST(ColourJitter, is_drawn_within_its_bounds) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Rng rng(1, 0, i);
    const auto factors =
        image::draw(image::ColourJitter{.brightness = 2, .contrast = 0.1F, .saturation = 0}, rng);
    EXPECT_GE(factors.brightness, 0);
    EXPECT_LE(factors.brightness, 3);
    EXPECT_NEAR(factors.contrast, 1, 0.1001);
    EXPECT_EQ(factors.saturation, 1);
  }
  Image image = drawn_image(2, 2, 3);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error_of([&] { image::adjust(image, {.contrast = nan}); }).message(),
              HasSubstr("contrast can't be multiplied by nan"));
}

}  // namespace
}  // namespace infeed::test
