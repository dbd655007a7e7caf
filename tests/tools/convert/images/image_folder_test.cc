#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <infeed/records/example.h>
#include <infeed/records/record_reader.h>

#include "matchers.h"
#include "pipeline/image/encoded_images.h"
#include "temporary_folder.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"

/// Folders and tars of images as people have them, by the real program.
namespace infeed::test {
namespace {

struct Pixels {
  std::string name;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::string pixels;
};

class ImageFolders : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) const {
    folder_.write(name, bytes);
  }
  ProgramResult convert(std::vector<std::string> words, const std::string& input = "photos") const {
    words.insert(words.begin(), {"convert", folder_.file(input), "-o", folder_.file("out"),
                                 "--overwrite", "--json", folder_.file("json")});
    return run_infeed(words);
  }
  std::vector<Pixels> decoded(const std::vector<std::string>& words) const {
    const ProgramResult result = convert(words);
    EXPECT_EQ(result.status, 0) << result.err;
    const ExampleParser parser({"filename", "height", "width", "channels", "image"});
    std::vector<FeatureView> views(5);
    std::vector<Pixels> images;
    RecordReader reader(folder_.file("out/data-00000-of-00001.tfrecord"));
    Record record;
    while (reader.next(record)) {
      parser.parse(record, views);
      Pixels& image = images.emplace_back();
      image.name = views[0].single_bytes();
      views[1].read_integers(std::span(&image.height, 1));
      views[2].read_integers(std::span(&image.width, 1));
      views[3].read_integers(std::span(&image.channels, 1));
      image.pixels = views[4].single_bytes();
    }
    return images;
  }
  /// "cat/1.png 0" for each image.
  std::vector<std::string> labels() const {
    const ExampleParser parser({"filename", "label"});
    std::vector<FeatureView> views(2);
    std::vector<std::string> labels;
    RecordReader reader(folder_.file("out/data-00000-of-00001.tfrecord"));
    Record record;
    while (reader.next(record)) {
      parser.parse(record, views);
      std::int64_t label = -1;
      views[1].read_integers(std::span(&label, 1));
      labels.push_back(fmt::format("{} {}", views[0].single_bytes(), label));
    }
    return labels;
  }
  nlohmann::json manifest() const {
    return nlohmann::json::parse(read_whole(folder_.file("out/data.manifest.json")));
  }

  TemporaryFolder folder_;
};

TEST_F(ImageFolders, ADamagedImageIsFoundWhenItIsConverted) {
  write("photos/cat/1.png", as_png(32));
  write("photos/dog/1.jpg", as_jpeg(32));
  EXPECT_EQ(convert({}).status, 0);
  for (const auto& [name, whole] :
       {std::pair("photos/cat/2.png", as_png(32)), std::pair("photos/dog/2.jpg", as_jpeg(32))}) {
    const std::string half = whole.substr(0, whole.size() / 2);
    write(name, half);
    const ProgramResult result = convert({});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, AllOf(HasSubstr("image can't be decoded"), HasSubstr(name),
                                  HasSubstr("--trust-images"), HasSubstr("--quarantine-max")));
    EXPECT_EQ(convert({"--quarantine-max", "1"}).status, 0);
    EXPECT_THAT(manifest().at("quarantined").at(0).at("input"),
                std::string(name).substr(std::string("photos/").size()));
    EXPECT_EQ(convert({"--trust-images"}).status, 0);
    EXPECT_EQ(manifest().at("examples"), 3);
    EXPECT_THAT(read_whole(folder_.file("out/data-00000-of-00001.tfrecord")), HasSubstr(half));
    fs::remove(folder_.file(name));
  }
}

TEST_F(ImageFolders, WhatIsLeftOutIsSaid) {
  write("photos/cat/1.png", as_png(8));
  write("photos/cat/notes.txt", "");
  write("photos/cat/Thumbs.db", "");
  write("photos/README", "");
  write("photos/labels.csv", "");
  write("photos/beside.png", as_png(8));
  write("photos/.ipynb_checkpoints/1.png", as_png(8));
  fs::create_directory(folder_.file("photos/ant"));
  fs::create_directory(folder_.file("photos/bee"));
  fs::create_directory_symlink("..", folder_.file("photos/cat/loop"));
  ASSERT_EQ(::mkfifo(folder_.file("photos/cat/pipe.png").c_str(), 0600), 0);
  const ProgramResult result = convert({});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("left out: 4 files that by their names are no images: README, "
                              "cat/Thumbs.db, cat/notes.txt, ...\n"),
                    HasSubstr("1 image beside the class folders: beside.png\n"),
                    HasSubstr("1 hidden file or folder: .ipynb_checkpoints\n"),
                    HasSubstr("2 class folders without images, which get no label: ant, bee\n"),
                    HasSubstr("1 pipe, socket or device with an image's name: cat/pipe.png\n"),
                    HasSubstr("1 link to a folder that it lies in: cat/loop\n"),
                    HasSubstr("1 image of 1 class in")));
  EXPECT_EQ(nlohmann::json::parse(read_whole(folder_.file("json"))).at("notes").size(), 6);
}

TEST_F(ImageFolders, TwoFoldersHaveTheSameLabelsByAList) {
  for (const char* const name : {"train/a/1.png", "train/b/1.png", "train/c/1.png"}) {
    write(name, as_png(8));
  }
  write("val/a/1.png", as_png(8));
  write("val/c/1.png", as_png(8));
  EXPECT_THAT(convert({}, "train").out, HasSubstr("data: classes: 0 a, 1 b, 2 c\n"));
  fs::rename(folder_.file("out/data.manifest.json"), folder_.file("classes.json"));
  write("classes.txt",
        "\xef\xbb\xbf"
        "a\r\nb\nc\n\n");
  for (const char* const list : {"classes.json", "classes.txt"}) {
    const ProgramResult result = convert({"--classes", folder_.file(list)}, "val");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("data: classes: 0 a, 1 b, 2 c\n"),
                                  HasSubstr("data: 1 class has no image here: b\n")));
    EXPECT_EQ(manifest().at("classes"), nlohmann::json({"a", "b", "c"}));
    EXPECT_THAT(labels(), ElementsAre("a/1.png 0", "c/1.png 2"));
  }
  const auto refused = [&](const std::string& list) {
    write("classes.txt", list);
    return convert({"--classes", folder_.file("classes.txt")}, "val").err;
  };
  EXPECT_THAT(refused("a\nb\n"),
              HasSubstr("the folder 'c' is no class that was asked for: there are a, b"));
  EXPECT_THAT(refused("a\n\nc\n"), HasSubstr("line 2 is empty"));
  EXPECT_THAT(refused("a\nc\na\n"), HasSubstr("the class 'a' comes twice"));
  EXPECT_THAT(refused("\n"), HasSubstr("no classes are listed"));
  write("t.csv", "a\n1\n");
  ASSERT_EQ(convert({}, "t.csv").status, 0);
  EXPECT_THAT(convert({"--classes", folder_.file("out/data.manifest.json")}, "val").err,
              HasSubstr("this manifest names no classes"));
  write("classes.txt", "a\n");
  EXPECT_THAT(convert({"--classes", folder_.file("classes.txt")}, "t.csv").err,
              HasSubstr("--classes is for folders of images, but the input is csv"));
}

/// After a kill the shards in it were the input.
TEST_F(ImageFolders, AreNotWrittenInto) {
  write("photos/a/1.png", as_png(8));
  const std::string photos = folder_.file("photos");
  const ProgramResult result = run_infeed({"convert", photos, "-o", photos + "/."});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("the folder is input and output"), HasSubstr(photos)));
  EXPECT_FALSE(fs::exists(photos + "/data.manifest.json"));
  // Record files aren't looked for then.
  EXPECT_EQ(run_infeed({"convert", photos, "-o", photos, "--kind", "images"}).status, 0);
  EXPECT_THAT(run_infeed({"convert", photos, "-o", photos, "--kind", "images"}).out,
              HasSubstr("complete already"));
}

TEST_F(ImageFolders, PartsOfASplitAreNoClasses) {
  for (const char* const name : {"photos/Train/a/1.png", "photos/val/a/1.png"}) {
    write(name, as_png(8));
  }
  EXPECT_THAT(convert({}).err, AllOf(HasSubstr("seems to hold parts of a split (Train, val)"),
                                     HasSubstr("Train/a/1.png"), HasSubstr("--classes")));
  write("classes.txt", "Train\nval\n");
  const ProgramResult result = convert({"--classes", folder_.file("classes.txt")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("data: 2 images lie in folders below their class's: "
                                    "Train/a/1.png, val/a/1.png\n"));
  write("photos/val/2.png", as_png(8));  // a class of that name
  EXPECT_EQ(convert({}).status, 0);
}

TEST_F(ImageFolders, NamesThatDifferInTheirUnicodeFormOnly) {
  const std::string together = "caf\xc3\xa9";
  const std::string apart = "cafe\xcc\x81";
  write("photos/" + together + "/1.png", as_png(8));
  write("photos/" + apart + "/1.png", as_png(8));
  EXPECT_THAT(convert({}).out,
              HasSubstr(fmt::format("data: 1 pair of classes look alike and differ "
                                    "in their Unicode form only: '{}' and '{}'\n",
                                    apart, together)));
  fs::remove_all(folder_.file("photos/" + together));
  write("classes.txt", together + "\n");
  EXPECT_THAT(
      convert({"--classes", folder_.file("classes.txt")}).err,
      HasSubstr(fmt::format("the folder '{}' and the class '{}' that was asked for look alike",
                            apart, together)));
}

TEST_F(ImageFolders, NamesOfOtherScriptsThatDifferInTheirUnicodeForm) {
  // Hangul, Devanagari, and accents above and below in another order. The last two are no pair.
  for (const std::string name : {"\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8",
                                 "\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc", "a\xcc\xa3\xcc\x82",
                                 "a\xcc\x82\xcc\xa3", "\xea\xb0\x82", "not UTF-8 \xff"}) {
    write("photos/" + name + "/1.png", as_png(8));
  }
  EXPECT_THAT(convert({}).out, HasSubstr("3 pairs of classes look alike"));
}

TEST_F(ImageFolders, ALinkToNothingIsABadImage) {
  write("photos/cat/1.png", as_png(8));
  fs::create_symlink("gone.png", folder_.file("photos/cat/2.png"));
  fs::create_symlink("3.png", folder_.file("photos/cat/3.png"));
  const ProgramResult result = convert({});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("example cat/"), HasSubstr("--quarantine-max")));
  EXPECT_EQ(convert({"--quarantine-max", "2"}).status, 0);
  EXPECT_EQ(manifest().at("examples"), 1);
}

TEST_F(ImageFolders, ClassesStandInTheManifestAndAreShown) {
  write("photos/dog/1.png", as_png(8));
  write("photos/cat/1.png", as_png(8));
  ASSERT_EQ(convert({}).status, 0);
  EXPECT_EQ(manifest().at("classes"), nlohmann::json({"cat", "dog"}));
  const ProgramResult result =
      run_infeed({"inspect", folder_.file("out"), "--json", folder_.file("json")});
  EXPECT_THAT(result.out, HasSubstr("2 classes, by label: 0 cat, 1 dog\n")) << result.err;
  const auto json = nlohmann::json::parse(read_whole(folder_.file("json")));
  EXPECT_EQ(json.at("classes"), nlohmann::json({"cat", "dog"}));
  EXPECT_EQ(run_infeed({"verify", folder_.file("out")}).status, 0);
  ASSERT_EQ(run_infeed({"reshard", folder_.file("out"), "-o", folder_.file("new")}).status, 0);
  EXPECT_THAT(run_infeed({"inspect", folder_.file("new")}).out, HasSubstr("0 cat, 1 dog\n"))
      << "they go on with the records";
}

TEST_F(ImageFolders, DecodedImagesHaveOneNumberOfChannels) {
  write("photos/a/grey.jpg", jpeg_of(1, 8, 4, std::vector<std::uint8_t>(32, 100)));
  std::vector<Pixels> images = decoded({"--decode-images"});
  ASSERT_EQ(images.size(), 1);
  EXPECT_EQ(images[0].channels, 1) << "what all have in common";
  EXPECT_EQ(images[0].pixels, std::string(32, 'd'));

  write("photos/a/rgb.png", as_png(4));
  images = decoded({"--decode-images"});
  EXPECT_EQ(images[0].pixels, std::string(96, 'd'));
  EXPECT_EQ(images[1].channels, 3);
  EXPECT_EQ(images[1].height, 4) << "each keeps its size";
  EXPECT_FALSE(manifest().at("columns").at(4).contains("shape"));
  EXPECT_THAT(convert({"--decode-images"}).out,
              HasSubstr("1 image of 2 is grey, and converted to RGB; --channels"));

  images = decoded({"--decode-images", "--channels", "4", "--resize", "6x5"});
  for (const Pixels& image : images) {
    EXPECT_EQ(image.channels, 4);
    EXPECT_EQ(image.width, 6);
    EXPECT_EQ(image.height, 5);
    EXPECT_EQ(image.pixels.size(), 6 * 5 * 4);
  }
  EXPECT_EQ(manifest().at("columns").at(4).at("shape"), nlohmann::json({5, 6, 4}));
  EXPECT_THAT(decoded({"--decode-images", "--channels", "1", "--resize", "3"})[1].pixels,
              ElementsAre('\xff', ::testing::_, '\0', '\xff', ::testing::_, '\0', '\xff',
                          ::testing::_, '\0'));
}

TEST_F(ImageFolders, DecodedImagesStandUpright) {
  // The upper half is white; turned clockwise it is the right one.
  std::vector<std::uint8_t> pixels(16 * 8, 0);
  std::fill(pixels.begin(), pixels.begin() + 16 * 4, 255);
  const std::string bytes(pixels.begin(), pixels.end());
  write("photos/a/1.jpg", with_orientation(jpeg_of(1, 16, 8, pixels), 6));
  write("photos/a/2.png", png_with_orientation(png_of(PNG_FORMAT_GRAY, 16, 8, bytes), 6));
  EXPECT_THAT(convert({}).out, HasSubstr("2 images have an Exif orientation"));
  const std::vector<Pixels> images = decoded({"--decode-images"});
  ASSERT_EQ(images.size(), 2);
  for (const Pixels& image : images) {
    EXPECT_EQ(image.height, 16);
    EXPECT_EQ(image.width, 8);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
      EXPECT_EQ(image.pixels[i], i % 8 < 4 ? '\0' : '\xff') << i;
    }
  }
  EXPECT_EQ(manifest().at("columns").at(4).at("shape"), nlohmann::json({16, 8, 1}));
}

TEST_F(ImageFolders, CmykBecomesRgb) {
  std::vector<std::uint8_t> pixels;  // inverted ink: full cyan, no magenta and yellow, no black
  for (int i = 0; i < 64; ++i) pixels.insert(pixels.end(), {0, 255, 255, 255});
  write("photos/a/1.jpg", jpeg_of(4, 8, 8, pixels));
  EXPECT_THAT(convert({}).out, HasSubstr("1 image is CMYK"));
  const std::vector<Pixels> images = decoded({"--decode-images"});
  ASSERT_EQ(images.size(), 1);
  EXPECT_EQ(images[0].channels, 3);
  EXPECT_EQ(images[0].pixels.substr(0, 3), std::string("\0\xff\xff", 3));
}

TEST_F(ImageFolders, ImagesOfATarAreCheckedAndDecodedToo) {
  write("t/1.jpg", as_jpeg(8));
  write("t/1.mask.png", as_png(4));
  write("t/2.jpg", jpeg_of(1, 8, 8, std::vector<std::uint8_t>(64, 100)));
  write("t/2.txt", "no image");
  const auto pack = [&] {
    ASSERT_EQ(std::system(fmt::format("tar -C '{0}/t' -cf '{0}/t.tar' --sort=name .",
                                      folder_.path().string())
                              .c_str()),
              0);
  };
  pack();
  const ProgramResult result = convert({"--decode-images", "--resize", "4"}, "t.tar");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("jpg: 1 image of 2 is grey, and converted to RGB"),
                                Not(HasSubstr("mask.png: "))));
  EXPECT_THAT(run_infeed({"inspect", folder_.file("out")}).out, HasSubstr("; shape 4x4x3"));
  const std::string whole = as_jpeg(8);
  write("t/2.jpg", whole.substr(0, whole.size() / 2));
  pack();
  EXPECT_THAT(convert({}, "t.tar").err, AllOf(HasSubstr("JPEG image can't be decoded"),
                                              HasSubstr("example 2 is bad"), HasSubstr("t.tar")));
  EXPECT_EQ(convert({"--quarantine-max", "1"}, "t.tar").status, 0);
  EXPECT_EQ(convert({"--trust-images"}, "t.tar").status, 0);
  write("t.csv", "a\n1\n");
  EXPECT_THAT(convert({"--trust-images"}, "t.csv").err, HasSubstr("--trust-images is for folders"));
}

}  // namespace
}  // namespace infeed::test
