#include "convert/images/image_decoder.h"

#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include <infeed/error.h>
#include <infeed/records/example.h>
#include <infeed/records/files.h>
#include <infeed/records/record_reader.h>

#include "pipeline/image/encoded_images.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"
#include "tools/temporary_folder.h"

/// Images become pixels, alone and by `infeed convert --decode-images`.
namespace infeed::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string png_of(png_uint_32 format, png_uint_32 width, png_uint_32 height,
                   const std::string& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = format;
  png_alloc_size_t size = 100'000;
  std::string bytes(size, '\0');
  EXPECT_NE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr),
            0);
  bytes.resize(size);
  return bytes;
}

std::string error_of(const std::string& bytes) {
  try {
    tools::decode_image(bytes);
    return {};
  } catch (const Error& error) {
    return error.message();
  }
}

TEST(ImageDecoder, PngOfEachFormatGivesItsPixelsBack) {
  std::mt19937 random(5);
  const std::array<std::pair<png_uint_32, std::size_t>, 4> formats{
      {{PNG_FORMAT_GRAY, 1}, {PNG_FORMAT_GA, 2}, {PNG_FORMAT_RGB, 3}, {PNG_FORMAT_RGBA, 4}}};
  for (const auto& [format, channels] : formats) {
    std::string pixels(5 * 7 * channels, '\0');
    for (char& c : pixels) c = static_cast<char>(random());
    const tools::DecodedImage image = tools::decode_image(png_of(format, 5, 7, pixels));
    EXPECT_EQ(image.width, 5);
    EXPECT_EQ(image.height, 7);
    EXPECT_EQ(image.channels, channels);
    EXPECT_EQ(image.pixels, pixels);
  }
}

TEST(ImageDecoder, JpegGivesAboutItsPixels) {
  const tools::DecodedImage image = tools::decode_image(as_jpeg(16));
  EXPECT_EQ(image.channels, 3);
  ASSERT_EQ(image.pixels.size(), 16 * 16 * 3);
  EXPECT_GT(static_cast<unsigned char>(image.pixels[0]), 250) << "the left half is white";
  EXPECT_LT(static_cast<unsigned char>(image.pixels[15 * 3]), 5);
}

TEST(ImageDecoder, CutAndDamagedImagesAreErrors) {
  const std::string png = as_png(64);
  const std::string jpeg = as_jpeg(64);
  for (std::size_t kept = 4; kept + 2 < jpeg.size(); kept += 7) {
    EXPECT_THAT(error_of(jpeg.substr(0, kept)), HasSubstr("JPEG image can't be decoded")) << kept;
  }
  // Without its end chunk alone (12 bytes) an image is still whole.
  for (std::size_t kept = 4; kept + 12 < png.size(); kept += 3) {
    EXPECT_THAT(error_of(png.substr(0, kept)), HasSubstr("PNG image can't be decoded")) << kept;
  }
  EXPECT_THAT(error_of("GIF89a"), HasSubstr("only JPEG and PNG"));
  EXPECT_THAT(error_of(""), HasSubstr("its 0 bytes"));
  std::string huge = png;
  huge.replace(16, 8, std::string("\x7f\xff\xff\xff\x7f\xff\xff\xff", 8));
  EXPECT_THAT(error_of(huge), HasSubstr("2147483647 x 2147483647 pixels"));
  std::mt19937 random(6);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = i % 2 == 0 ? png : jpeg;
    for (int j = 0; j < 3; ++j) damaged[random() % damaged.size()] = static_cast<char>(random());
    error_of(damaged);  // whatever it says, it comes back
  }
}

TEST(ImageDecoder, ConvertWritesPixelsWithTheirSizes) {
  const TemporaryFolder folder;
  fs::create_directories(folder.file("photos/cat"));
  const std::string pixels = "abcdef";
  std::ofstream(folder.file("photos/cat/1.png"), std::ios::binary)
      << png_of(PNG_FORMAT_GRAY, 3, 2, pixels);
  fs::create_directories(folder.file("tar"));
  fs::copy_file(folder.file("photos/cat/1.png"), folder.file("tar/7.seg.png"));
  ASSERT_EQ(std::system(fmt::format("tar -C '{0}/tar' -cf '{0}/t.tar' .", folder.path()).c_str()),
            0);
  const auto convert = [&](const std::string& input) {
    return run_infeed({"convert", folder.file(input), "-o", folder.file("out"), "--shards", "1",
                       "--decode-images", "--overwrite"});
  };
  const auto read = [&](const std::string& image, const std::string& prefix) {
    RecordReader reader(folder.file("out/data-00000-of-00001.tfrecord"));
    Record record;
    ASSERT_TRUE(reader.next(record));
    const ExampleParser parser({image, prefix + "height", prefix + "width", prefix + "channels"});
    std::array<FeatureView, 4> views;
    parser.parse(record, views);
    EXPECT_EQ(views[0].single_bytes(), pixels);
    std::vector<int> sizes;
    for (int i = 1; i < 4; ++i) views[i].append_integers(sizes);
    EXPECT_THAT(sizes, ::testing::ElementsAre(2, 3, 1));
  };
  ASSERT_EQ(convert("photos").status, 0);
  read("image", "");
  ASSERT_EQ(convert("t.tar").status, 0);
  read("seg.png", "seg.png.");
  std::ofstream(folder.file("photos/cat/2.gif")) << "GIF89a";
  EXPECT_THAT(convert("photos").err, HasSubstr("only JPEG and PNG"));
  EXPECT_THAT(convert("photos").err, HasSubstr("cat/2.gif"));
  std::ofstream(folder.file("t.csv")) << "a\n1\n";
  EXPECT_THAT(convert("t.csv").err, HasSubstr("--decode-images is for folders of images"));
}

}  // namespace
}  // namespace infeed::testing
