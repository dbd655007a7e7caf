#include <chrono>
#include <sys/resource.h>

#include <infeed/error.h>
#include <infeed/image/decode.h>
#include <infeed/image/resized_crop.h>

#include "cpu_time.h"
#include "pipeline/image/encoded_images.h"
#include "pipeline/suite/counted_memory.h"
#include "thrown_error.h"

/// Claims of a few bytes are refused before they take memory or time.
namespace infeed::test {
namespace {

/// Returns the image, of any kind, with another size in its frame header.
std::string claiming(std::string jpeg, unsigned width, unsigned height) {
  for (std::size_t at = 2; at + 9 < jpeg.size();) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(jpeg[i]); };
    if (byte(at + 1) == 0xC0 || byte(at + 1) == 0xC2) {
      const std::string size{static_cast<char>(height >> 8), static_cast<char>(height),
                             static_cast<char>(width >> 8), static_cast<char>(width)};
      return jpeg.replace(at + 5, 4, size);
    }
    at += 2 + (std::size_t{byte(at + 2)} << 8 | byte(at + 3));
  }
  ADD_FAILURE() << "no frame";
  return jpeg;
}

/// Behind the first scan's header (DA, size...) only more such headers follow.
std::string of_empty_scans(const std::string& progressive, int count) {
  const std::size_t at = progressive.find("\xff\xda");
  const std::size_t size = 2 + static_cast<unsigned char>(progressive[at + 3]);
  std::string jpeg = progressive.substr(0, at);
  for (int i = 0; i < count; ++i) jpeg += progressive.substr(at, size);
  return jpeg + "\xff\xd9";
}

struct Cost {
  std::string message;
  double seconds;
  double megabytes;
};

Cost cost_of(const std::string& bytes, const image::DecodeOptions& options = {}) {
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
  };
  const double before = peak();
  const auto start = process_cpu_time();
  const Error error = error_of([&] { image::decode(bytes, options); });
  const std::chrono::duration<double> taken = process_cpu_time() - start;
  return {error.message(), taken.count(), peak() - before};
}

void expect_cheap(const Cost& cost, const char* text) {
  EXPECT_THAT(cost.message, HasSubstr(text));
  EXPECT_LT(cost.seconds, 1);
  EXPECT_LT(cost.megabytes, 16);
}

std::string progressive() { return as_jpeg(drawn_image(16, 16, 3), {.is_progressive = true}); }

TEST(ImageLimits, a_few_bytes_may_claim_any_size) {
  const std::string huge = claiming(progressive().substr(0, 700), 65'500, 65'500);
  expect_cheap(cost_of(huge), "has 65500 x 65500 pixels, but at most 67108864 can be decoded");
  // Within the limit: 400 MB of coefficients, for which there is nothing in the file.
  const std::string large = claiming(progressive(), 8000, 8000);
  expect_cheap(cost_of(large), "8000 x 8000 pixels don't fit into its");
  std::string png = as_png(64);
  png.replace(16, 8, std::string("\x7f\xff\xff\xff\x7f\xff\xff\xff", 8));
  expect_cheap(cost_of(png), "has 2147483647 x 2147483647 pixels");
  png.replace(16, 8, std::string("\0\0\x1f\0\0\0\x1f\0", 8));
  expect_cheap(cost_of(png), "7936 x 7936 pixels don't fit into its");
}

TEST(ImageLimits, a_progressive_image_is_held_whole_at_any_scale) {
  const std::string jpeg =
      as_jpeg(drawn_image(1000, 800, 3), {.is_progressive = true, .sampling = 1});
  const image::DecodeOptions small{.jpeg_width_max = 100, .limits = {.memory_bytes_max = 4 << 20}};
  EXPECT_THAT(error_of([&] { image::decode(jpeg, small); }).message(),
              AllOf(HasSubstr("the image takes 5"), HasSubstr("at most 4194304 may be used "
                                                              "(DecodeLimits::memory_bytes_max)")));
  EXPECT_THAT(error_of([&] {
                image::decode_crop(jpeg, {0, 0, 8, 8}, {.limits = small.limits});
              }).message(),
              HasSubstr("memory_bytes_max"));
  std::vector<float> row(8 * 8 * 3);
  const image::Target target{.width = 8, .height = 8, .limits = small.limits};
  EXPECT_THAT(error_of([&] { image::central_crop(jpeg, target, row); }).message(),
              HasSubstr("memory_bytes_max"));
  const std::string baseline = as_jpeg(drawn_image(1000, 800, 3));
  EXPECT_EQ(image::decode(baseline, small).width, 125U) << "line by line it takes little";
}

TEST(ImageLimits, scans_are_counted_before_they_are_read) {
  const std::string scans = of_empty_scans(claiming(progressive(), 512, 512), 1000);
  expect_cheap(cost_of(scans), "has over 100 scans; DecodeLimits::scans_max allows no more");
  expect_cheap(cost_of(scans, {.refuse_damaged = false}), "has over 100 scans");
  EXPECT_THAT(cost_of(progressive(), {.limits = {.scans_max = 3}}).message,
              HasSubstr("has over 3 scans"));
  EXPECT_EQ(image::decode(progressive()).width, 16U);
}

TEST(ImageLimits, the_pixels_themselves_count) {
  const std::string jpeg = as_jpeg(drawn_image(100, 100, 3));
  EXPECT_THAT(cost_of(jpeg, {.limits = {.pixels_max = 9'999}}).message,
              HasSubstr("has 100 x 100 pixels, but at most 9999"));
  EXPECT_THAT(cost_of(jpeg, {.limits = {.memory_bytes_max = 29'999}}).message,
              HasSubstr("memory_bytes_max"));
}

TEST(ImageLimits, an_image_that_fails_gives_back_its_memory_at_once) {
  constexpr unsigned kSide = 3000;
  constexpr std::size_t kRgbBytes = std::size_t{3} * kSide * kSide;
  const std::vector<std::uint8_t> black(kRgbBytes);
  std::string png = raw_png(kSide, kSide, 8, PNG_COLOR_TYPE_RGB, true, std::string(kRgbBytes, 0));
  png.resize(png.size() / 2);
  std::string jpeg = jpeg_of(3, kSide, kSide, black, {.is_progressive = true});
  jpeg.resize(jpeg.size() - 100);
  std::vector<float> row(8 * 8 * 3);
  const image::Target target{.width = 8, .height = 8};
  for (const std::string& damaged : {png, jpeg}) {
    const CountedMemory memory;
    EXPECT_THAT(error_of([&] { image::decode(damaged); }).message(),
                HasSubstr("image can't be decoded"));
    EXPECT_LT(memory.held_bytes(), kRgbBytes / 2) << "behind decode()";
    EXPECT_THAT(error_of([&] { image::central_crop(damaged, target, row); }).message(),
                HasSubstr("image can't be decoded"));
    EXPECT_LT(memory.held_bytes(), kRgbBytes / 2) << "behind central_crop()";
  }
}

TEST(ImageLimits, a_crop_is_as_large_as_an_image_that_is_resized) {
  const std::string png = png_of(PNG_FORMAT_GRAY, 65'537, 1, std::string(65'537, '\x50'));
  std::vector<float> row(8 * 8 * 3);
  const image::Target target{.width = 8, .height = 8};
  EXPECT_THAT(error_of([&] {
                image::resized_crop(png, target, {.crop = {.width = 65'537, .height = 1}}, row);
              }).message(),
              HasSubstr("the crop of 65537 x 1 can't be resized: each side must be 1 to 65536"));
  image::resized_crop(png, target, {.crop = {.left = 1, .width = 65'536, .height = 1}}, row);
}

TEST(ImageLimits, an_image_beyond_them_is_as_bad_as_one_of_another_format) {
  const std::string jpeg = progressive();
  for (const image::DecodeLimits& limits :
       {image::DecodeLimits{.pixels_max = 1}, image::DecodeLimits{.memory_bytes_max = 1},
        image::DecodeLimits{.scans_max = 1}}) {
    EXPECT_EQ(error_of([&] { image::decode(jpeg, {.limits = limits}); }).code(),
              ErrorCode::invalid_argument);
  }
}

}  // namespace
}  // namespace infeed::test
