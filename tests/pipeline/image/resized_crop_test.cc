#include "infeed/image/resized_crop.h"

#include <cmath>

#include <infeed/error.h>
#include <infeed/image/header.h>
#include <infeed/pipeline/batch_into.h>
#include <infeed/pipeline/slices.h>

#include "pipeline/image/encoded_images.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using image::Augmentation;
using image::Image;
using image::RandomCrop;
using image::Target;

/// Takes one step after the other, as in the header's description.
template <class T>
std::vector<T> step_by_step(const std::string& bytes, const Target& target,
                            const Augmentation& augmentation) {
  Image image = image::decode_crop(bytes, augmentation.crop,
                                   {.channels = target.channels, .background = target.background});
  image = image::resize(image, {target.width, target.height}, target.filter);
  if (augmentation.flip) image::flip(image);
  image::adjust(image, augmentation.colours);
  std::vector<T> row(image.pixels.size());
  image::normalise(image, target.normalisation, std::span<T>(row));
  return row;
}

template <class T>
std::vector<T> at_once(const std::string& bytes, const Target& target,
                       const Augmentation& augmentation) {
  std::vector<T> row(target.width * target.height * static_cast<std::size_t>(target.channels));
  image::resized_crop(bytes, target, augmentation, std::span<T>(row));
  return row;
}

std::vector<std::string> images() {
  const Image rgb = drawn_image(93, 71, 3);
  std::vector<std::string> images{as_jpeg(rgb), as_jpeg(rgb, {.is_progressive = true}),
                                  png_of(PNG_FORMAT_RGBA, 93, 71, std::string(93 * 71 * 4, 'x')),
                                  as_jpeg(drawn_image(93, 71, 1))};
  for (int orientation = 2; orientation <= 8; ++orientation) {
    images.push_back(with_orientation(images[0], orientation));
    images.push_back(png_with_orientation(images[2], orientation));
  }
  return images;
}

TEST(ResizedCrop, is_bit_for_bit_its_steps) {
  std::uint64_t position = 0;
  for (const std::string& bytes : images()) {
    for (int i = 0; i < 12; ++i) {
      Rng rng(1, 0, position++);
      RandomCrop random;
      if (i % 3 == 0) random.jitter = image::ColourJitter{};
      const Augmentation drawn = image::draw(image::read_header(bytes).upright_size(), random, rng);
      Target target{.width = 40, .height = 31};
      target.channels = i % 4 == 1 ? image::Channels::grey : image::Channels::rgb;
      target.filter = static_cast<image::Filter>(i % 3);
      target.normalisation.layout = i % 2 == 0 ? image::Layout::nhwc : image::Layout::nchw;
      EXPECT_EQ(at_once<float>(bytes, target, drawn), step_by_step<float>(bytes, target, drawn));
      EXPECT_EQ(at_once<bfloat16>(bytes, target, drawn),
                step_by_step<bfloat16>(bytes, target, drawn));
      EXPECT_EQ(at_once<std::uint8_t>(bytes, target, drawn),
                step_by_step<std::uint8_t>(bytes, target, drawn));
    }
  }
}

TEST(ResizedCrop, at_random_is_what_is_drawn) {
  const std::string bytes = as_jpeg(drawn_image(93, 71, 3));
  const Target target{.width = 16, .height = 16};
  Rng rng(5, 0, 7);
  std::vector<float> row(16 * 16 * 3);
  image::random_resized_crop(bytes, target, rng, row, {.area_min = 0.5F});
  Rng same(5, 0, 7);
  EXPECT_EQ(row, at_once<float>(bytes, target, image::draw({93, 71}, {.area_min = 0.5F}, same)));
  EXPECT_EQ(rng(), same()) << "and takes as many numbers";
}

TEST(ResizedCrop, crops_are_drawn_as_said) {
  double area_sum = 0;
  double log_sum = 0;
  int flips = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    Rng rng(3, 0, static_cast<std::uint64_t>(i));
    const Augmentation drawn = image::draw({500, 375}, {}, rng);
    ASSERT_LE(drawn.crop.left + drawn.crop.width, 500U);
    ASSERT_LE(drawn.crop.top + drawn.crop.height, 375U);
    const double area = double(drawn.crop.width * drawn.crop.height) / (500 * 375);
    const double ratio = double(drawn.crop.width) / double(drawn.crop.height);
    ASSERT_GT(area, 0.078);
    ASSERT_LE(area, 1);
    ASSERT_GT(ratio, 0.74);
    ASSERT_LT(ratio, 1.35);
    area_sum += area;
    log_sum += std::log(ratio);
    flips += drawn.flip ? 1 : 0;
  }
  // Large and high crops don't fit, and are drawn anew: torchvision's means of 500 x 375.
  EXPECT_NEAR(area_sum / kDraws, 0.433, 0.015);
  EXPECT_NEAR(log_sum / kDraws, 0.031, 0.012);
  EXPECT_NEAR(flips, kDraws / 2, 150);
}

TEST(ResizedCrop, where_no_crop_fits_the_largest_central_one_is_taken) {
  Rng rng(3, 0, 0);
  const RandomCrop whole{.area_min = 1, .flip_probability = 0};
  EXPECT_EQ(image::draw({1000, 100}, whole, rng).crop, (image::Rect{433, 0, 133, 100}));
  EXPECT_EQ(image::draw({100, 1000}, whole, rng).crop, (image::Rect{0, 433, 100, 133}));
  EXPECT_EQ(image::draw({1, 1}, {}, rng).crop, (image::Rect{0, 0, 1, 1}));
}

TEST(ResizedCrop, from_the_middle) {
  const std::string bytes = as_jpeg(drawn_image(80, 64, 3));
  const Target target{.width = 28, .height = 28};
  std::vector<float> row(28 * 28 * 3);
  image::central_crop(bytes, target, row);
  EXPECT_EQ(row, at_once<float>(bytes, target, {.crop = {12, 4, 56, 56}}));
  image::central_crop(bytes, target, row, 1);
  EXPECT_EQ(row, at_once<float>(bytes, target, {.crop = {8, 0, 64, 64}}));
}

TEST(ResizedCrop, scaled_decoding_stays_near) {
  // As sharp as photographs are at that size.
  const std::string bytes =
      as_jpeg(image::resize(drawn_image(200, 150, 3), {1600, 1200}), {.quality = 90});
  for (const std::size_t side : {64, 96, 160}) {
    Target target{.width = side, .height = side};
    const Augmentation crop{.crop = {101, 55, 1401, 1103}};
    const auto scaled = at_once<std::uint8_t>(bytes, target, crop);
    target.scaled_decoding = false;
    const auto whole = at_once<std::uint8_t>(bytes, target, crop);
    EXPECT_NE(scaled, whole);
    double sum = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) sum += std::abs(scaled[i] - whole[i]);
    EXPECT_LT(sum / double(whole.size()), 1) << side;
  }
}

TEST(ResizedCrop, mistakes_are_told) {
  const std::string bytes = as_jpeg(16);
  std::vector<float> row(10);
  const auto message = [&](const Target& target, const RandomCrop& random = {}) {
    Rng rng(1, 2, 3);
    return error_of([&] { image::random_resized_crop(bytes, target, rng, row, random); }).message();
  };
  EXPECT_THAT(message({.width = 2, .height = 2}),
              HasSubstr("the row has 10 values, but an image of 2 x 2 with 3 channels has 12"));
  EXPECT_THAT(message({.width = 0}), HasSubstr("a target of 0 x 224"));
  EXPECT_THAT(message({.channels = image::Channels::rgba}), HasSubstr("Channels::rgb or grey"));
  EXPECT_THAT(message({}, {.area_min = 2}), HasSubstr("no crop can be drawn with areas of 2 to 1"));
  EXPECT_THAT(message({}, {.jitter = image::ColourJitter{.contrast = -1}}),
              HasSubstr("ColourJitter::contrast is -1: 0 to 8 is expected"));
  EXPECT_THAT(error_of([&] { image::central_crop(bytes, {}, row, 2); }).message(),
              HasSubstr("a share of 2"));
  EXPECT_THAT(error_of([&] {
                image::resized_crop(bytes, {}, {.crop = {0, 0, 17, 1}}, row);
              }).message(),
              HasSubstr("is no part of an image of 16 x 16"));
}

struct Picture {
  std::array<float, 12 * 12 * 3> pixels;
};

TEST(ResizedCrop, batches_are_the_same_at_any_thread_count_and_after_resume) {
  std::vector<std::string> jpegs;
  for (std::uint32_t i = 0; i < 23; ++i) jpegs.push_back(as_jpeg(drawn_image(40 + i, 30, 3, i)));
  const auto batches = [&](Count parallelism) {
    return slices(jpegs) |
           batch_into<Picture>(4,
                               [](const std::string& jpeg, const Row<Picture>& row, Rng& rng) {
                                 image::random_resized_crop(jpeg, {.width = 12, .height = 12}, rng,
                                                            row.column(&Picture::pixels));
                               },
                               {.parallelism = parallelism, .seed = 9});
  };
  std::vector<Batch<Picture>> serial;
  auto iterator = batches(1).iterate();
  while (auto batch = iterator.next()) serial.push_back(*batch);
  ASSERT_EQ(serial.size(), 6U);
  const auto same = [](const Batch<Picture>& a, const Batch<Picture>& b) {
    const auto x = a.column(&Picture::pixels);
    return std::equal(x.begin(), x.end(), b.column(&Picture::pixels).begin());
  };
  EXPECT_FALSE(same(serial[0], serial[1]));
  auto parallel = batches(3).iterate();
  for (std::size_t i = 0; i < serial.size(); ++i) {
    EXPECT_TRUE(same(*parallel.next(), serial[i])) << i;
    const Checkpoint checkpoint = parallel.checkpoint();
    if (i + 1 == serial.size()) break;
    auto resumed = batches(2).iterate({.resume = checkpoint});
    EXPECT_TRUE(same(*resumed.next(), serial[i + 1])) << i;
  }
}

}  // namespace
}  // namespace infeed::test
