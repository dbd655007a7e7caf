#include "infeed/pipeline/folder.h"

#include <filesystem>
#include <fmt/format.h>

#include <infeed/pipeline/element_codec.h>
#include <infeed/pipeline/global_shuffle.h>
#include <infeed/pipeline/map.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

static_assert(detail::kHasPayload<LabeledFile>, "a memory limit counts what it holds");
static_assert(kHasElementCodec<LabeledFile>, "a file cache can write it");

class FolderSource : public ::testing::Test {
 protected:
  FolderSource() {
    for (int c = 0; c < 3; ++c) {
      std::filesystem::create_directory(folder_.path() / fmt::format("class {}", c));
      for (int i = 0; i < 50; ++i) {
        folder_.write(fmt::format("class {}/{:02}.bin", c, i), std::to_string(1000 * c + i));
      }
    }
  }
  Dataset<std::int64_t> values(FolderOptions options = {}) const {
    return infeed::folder(folder_.path().string(), std::move(options)) |
           map([](const LabeledFile& file) {
             const auto number = std::stoll(std::string(file.content.bytes()));
             EXPECT_EQ(file.label, number / 1000);
             EXPECT_EQ(file.name, fmt::format("class {}/{:02}.bin", file.label, number % 1000));
             return static_cast<std::int64_t>(number);
           });
  }
  static Stream expected() {
    Stream stream;
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < 50; ++i) stream.push_back(std::to_string(1000 * c + i));
    }
    return stream;
  }

  const TemporaryFolder folder_;
};

TEST_F(FolderSource, PassesTheSuite) {
  EXPECT_EQ(values().cardinality(), Cardinality::finite(150));
  run_source_suite([&] { return values(); }, expected());
  run_source_suite([&] { return values({.parallelism = 2}); }, expected());
}

TEST_F(FolderSource, AFileThatCannotBeReadIsAnError) {
  std::filesystem::create_symlink("nothing", folder_.file("class 1/20.bin.gone"));
  const auto make = [&] { return values(); };
  const Stream all = stream_of(make());
  ASSERT_EQ(all.size(), 151);
  EXPECT_THAT(all[71], HasSubstr("no such file"));
  run_source_suite(make, all);
  auto iterator = make().iterate();
  for (int i = 0; i < 71; ++i) iterator.next();
  EXPECT_EQ(error_of([&] { iterator.next(); }).file(), folder_.file("class 1/20.bin.gone"));
}

TEST_F(FolderSource, AnyFileCanBeHadAtOnce) {
  Stream shuffled = stream_of(values() | global_shuffle({.seed = 1}));
  EXPECT_NE(shuffled, expected());
  std::sort(shuffled.begin(), shuffled.end());
  Stream sorted = expected();
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(shuffled, sorted);
}

TEST_F(FolderSource, KnowsItsFilesAndSaysWhatIsMissing) {
  const auto file = infeed::folder(folder_.path().string()).iterate().next();
  EXPECT_EQ(file->content.file(), folder_.file("class 0/00.bin"));
  const Error error = error_of([&] {
    infeed::folder(folder_.path().string(), {.files = {.extensions = {"jpg", "png"}}});
  });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_THAT(error.message(), HasSubstr("a folder a class is expected, with files named .jpg, "
                                         ".png in it; files without a class are named by a "
                                         "pattern, e.g. with '/*.tfrecord'"));
  EXPECT_EQ(error_of([&] { infeed::folder(folder_.file("gone")); }).code(), ErrorCode::not_found);
  auto iterator = values().iterate();
  iterator.next();
  const Checkpoint checkpoint = iterator.checkpoint();
  folder_.write("class 2/a.bin", "2010");
  EXPECT_EQ(error_of([&] { values().iterate({.resume = checkpoint}); }).code(),
            ErrorCode::failed_precondition);
}

}  // namespace
}  // namespace infeed::test
