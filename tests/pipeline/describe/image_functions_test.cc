#include <infeed/image/resized_crop.h>
#include <infeed/pipeline/testing.h>

#include "pipeline/describe/data_files.h"
#include "pipeline/image/encoded_images.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

class ImageFunctions : public ::testing::Test {
 protected:
  ImageFunctions() {
    RecordWriter writer(folder_.file("images"));
    for (std::size_t side = 20; side < 30; ++side) write(writer, as_jpeg(side));
    writer.close();
  }

  static void write(RecordWriter& writer, const std::string& image) {
    ExampleBuilder builder;
    builder.bytes("image", image);
    writer.write(builder.encode());
  }

  /// Returns the batches behind one more stage.
  Dataset<ColumnBatch> batches(const std::string& stage, const std::string& file = "images") const {
    return described(R"({"stage": "records", "files": [")" + folder_.file(file) + R"("]},
                        {"stage": "parse", "columns": [{"name": "image", "kind": "bytes"}]},
                        {"stage": "batch", "size": 4}, )" +
                     stage)
        .elements()
        .batches("test");
  }

  const TemporaryFolder folder_;
};

TEST_F(ImageFunctions, MakeTheSamePixelsAsTheLibrary) {
  const auto all =
      batches(R"({"stage": "central_crop", "column": "image", "width": 8, "height": 6})").collect();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].column("image").values().shape(), (Shape{4, 6, 8, 3}));
  std::vector<float> expected(6 * 8 * 3);
  image::central_crop(as_jpeg(21), {.width = 8, .height = 6}, std::span<float>(expected));
  const auto pixels = all[0].column("image").slice(1, 1).values<float>();
  EXPECT_TRUE(std::equal(pixels.begin(), pixels.end(), expected.begin(), expected.end()));
}

TEST_F(ImageFunctions, DrawByTheBatchsPlace) {
  const std::string stage = R"({"stage": "random_resized_crop", "column": "image", "width": 8,
      "height": 8, "dtype": "uint8", "layout": "nchw", "seed": 7})";
  EXPECT_EQ(batches(stage).collect().at(0).column("image").values().shape(), (Shape{4, 3, 8, 8}));
  const auto report = testing::expect_equal_after_resume([&] { return batches(stage); });
  EXPECT_EQ(report.elements, 3u);
  const auto other = batches(R"({"stage": "random_resized_crop", "column": "image", "width": 8,
      "height": 8, "dtype": "uint8", "layout": "nchw", "seed": 8})");
  EXPECT_NE(batches(stage).collect(), other.collect());
}

TEST_F(ImageFunctions, ErrorsNameTheRowAndCountTheOthers) {
  RecordWriter writer(folder_.file("one is bad"));
  write(writer, as_jpeg(20));
  write(writer, as_jpeg(20));
  write(writer, as_jpeg(20).substr(0, 200));
  writer.close();
  for (const std::string kind : {"central_crop", "random_resized_crop"}) {
    const Error error = error_of([&] {
      batches(R"({"stage": ")" + kind + R"(", "column": "image"})", "one is bad").collect();
    });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_THAT(error.message(),
                StartsWith("column 'image', row 2: the JPEG image can't be decoded: "));
    EXPECT_EQ(error.lost()->records, 2u);
  }
}

/// Python gives one number as a list.
TEST_F(ImageFunctions, OneNumberNormalisesAllChannels) {
  const auto crops = [&](const std::string& mean, const std::string& deviation) {
    return batches(R"({"stage": "central_crop", "column": "image", "mean": )" + mean +
                   R"(, "deviation": )" + deviation + "}");
  };
  EXPECT_EQ(crops("[0.5]", "[2]").collect(), crops("[0.5, 0.5, 0.5]", "[2, 2, 2]").collect());
  EXPECT_THAT(error_of([&] { crops("[0.5, 0.5]", "[2]"); }).message(),
              HasSubstr(".mean is [0.5,0.5]; it must be a list of one number, or of "
                        "three: red, green, blue"));
}

/// They became infinite.
TEST_F(ImageFunctions, RefuseNumbersBeyondFloats) {
  const std::string crop = R"({"stage": "central_crop", "column": "image", "deviation": )";
  EXPECT_THAT(error_of([&] { batches(crop + "[1, 1e39, 1]}"); }).message(),
              HasSubstr("deviation[1] is 1e+39; it must be a number that float32 holds, "
                        "up to 3.4e38"));
  EXPECT_NO_THROW(batches(crop + "[1, 3.4e38, 1]}"));
}

TEST_F(ImageFunctions, RefuseDeviationsThatGiveNoNumbers) {
  const auto refused = [&](const std::string& dtype) {
    return error_of([&] {
             batches(R"({"stage": "central_crop", "column": "image", "deviation": [1, 0, 1],
                         "dtype": ")" +
                     dtype + R"("})");
           })
        .message();
  };
  EXPECT_THAT(refused("bfloat16"), HasSubstr("central_crop: channel 1 can't be "
                                             "normalised with the mean 0.456 and the "
                                             "deviation 0"));
  EXPECT_NO_THROW(batches(R"({"stage": "central_crop", "column": "image", "deviation": [0, 0, 0],
                              "dtype": "uint8"})"));
}

TEST_F(ImageFunctions, RefuseOtherColumnsAndTypes) {
  EXPECT_THAT(
      error_of([&] { batches(R"({"stage": "central_crop", "column": "images"})"); }).message(),
      HasSubstr("there is no column 'images'; did you mean 'image'?"));
  EXPECT_THAT(error_of([&] {
                batches(R"({"stage": "central_crop", "column": "image", "dtype": "int64"})");
              }).message(),
              HasSubstr("dtype is int64; there are uint8, bfloat16, float32"));
}

}  // namespace
}  // namespace infeed::test
