#include <array>
#include <fmt/format.h>

#include <infeed/records/example.h>
#include <infeed/records/files.h>
#include <infeed/records/record_reader.h>

#include "matchers.h"
#include "pipeline/image/encoded_images.h"
#include "temporary_folder.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"

/// Images become pixels by `infeed convert --decode-images`.
namespace infeed::test {
namespace {

TEST(DecodedImages, ConvertWritesPixelsWithTheirSizes) {
  const TemporaryFolder folder;
  const std::string pixels = "abcdef";
  const std::string png = png_of(PNG_FORMAT_GRAY, 3, 2, pixels);
  folder.write("photos/cat/1.png", png);
  folder.write("tar/7.seg.png", png);
  ASSERT_EQ(std::system(
                fmt::format("tar -C '{0}/tar' -cf '{0}/t.tar' .", folder.path().string()).c_str()),
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
    EXPECT_THAT(sizes, ElementsAre(2, 3, 1));
  };
  ASSERT_EQ(convert("photos").status, 0);
  read("image", "");
  ASSERT_EQ(convert("t.tar").status, 0);
  read("seg.png", "seg.png.");
  folder.write("photos/cat/2.gif", "GIF89a");
  EXPECT_THAT(convert("photos").err, HasSubstr("only JPEG and PNG"));
  EXPECT_THAT(convert("photos").err, HasSubstr("cat/2.gif"));
  folder.write("t.csv", "a\n1\n");
  EXPECT_THAT(convert("t.csv").err, HasSubstr("--decode-images is for folders of images"));
}

}  // namespace
}  // namespace infeed::test
