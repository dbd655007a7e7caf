#include "checkpoint/checkpoint_manifest.h"

#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <vector>

#include "infeed/error.h"
#include "infeed/records/crc32c.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::detail {
namespace {

std::string whole_text(int version, const std::string& lines) {
  const std::string text = fmt::format("infeed-training-checkpoint {}\n{}", version, lines);
  return text + fmt::format("checksum {:08x}\n", crc32c(text));
}

CheckpointManifest parsed(const std::string& lines, int version = 2) {
  return CheckpointManifest::from_text(whole_text(version, lines), "x/manifest");
}

/// Returns the number of the line that is refused; 0 where none is.
int refused_line(const std::string& lines, int version = 2) {
  try {
    parsed(lines, version);
    return 0;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    EXPECT_EQ(error.file(), "x/manifest");
    const std::string begin = "not a whole training checkpoint: line ";
    EXPECT_TRUE(error.message().starts_with(begin)) << error.message();
    return std::stoi(error.message().substr(begin.size()));
  }
}

TEST(CheckpointManifest, EntriesLieOneBehindTheOther) {
  const std::string lines =
      "step 18446744073709551615\n"
      "tensor 00000001 float32 2x3 a name with  blanks\n"
      "tensor ffffffff int8 scalar b\n"
      "tensor 00000000 float64 0x5 c\n"
      "tensor 00000000 bfloat16 1x1x1x1x1x1x1x7 d\n"
      "bytes 00000002 5 e f\n"
      "bytes 00000003 0 g\n"
      "bytes 00000004 7 h\n";
  const CheckpointManifest manifest = parsed(lines);
  EXPECT_EQ(manifest.step, std::numeric_limits<std::uint64_t>::max());
  ASSERT_EQ(manifest.tensors.size(), 4U);
  EXPECT_EQ(manifest.tensors[0].name, "a name with  blanks");
  EXPECT_EQ(manifest.tensors[0].shape, Shape({2, 3}));
  EXPECT_EQ(manifest.tensors[0].crc32c, 1U);
  EXPECT_EQ(manifest.tensors[1].offset_bytes, 24U);
  EXPECT_EQ(manifest.tensors[1].shape, Shape());
  EXPECT_EQ(manifest.tensors[1].crc32c, 0xffffffffU);
  EXPECT_EQ(manifest.tensors[2].offset_bytes, 25U);
  EXPECT_EQ(manifest.tensors[3].offset_bytes, 25U);
  EXPECT_EQ(manifest.tensor_bytes(), 39U);
  ASSERT_EQ(manifest.bytes.size(), 3U);
  EXPECT_EQ(manifest.bytes[0].name, "e f");
  EXPECT_EQ(manifest.bytes[1].offset_bytes, 5U);
  EXPECT_EQ(manifest.bytes[2].offset_bytes, 5U);
  EXPECT_EQ(manifest.bytes_bytes(), 12U);
  EXPECT_EQ(manifest.to_text(), whole_text(2, lines));
  EXPECT_EQ(parsed("").tensor_bytes(), 0U);
  EXPECT_EQ(parsed("").bytes_bytes(), 0U);
}

TEST(CheckpointManifest, LinesThatAreNone) {
  for (const char* const line :
       {"step", "step ", "step -1", "step 1 ", "steps 1", "tensor", "tensor 100000000 int8 1 x",
        "tensor g int8 1 x",

        "tensor 0 int8 x1 x", "tensor 0 int8 1 ", "bytes", "bytes 0", "bytes 0 1", "bytes 0 1 ",
        "bytes 0 18446744073709551616 x", "tensor 0 int8 1152921504606846977 x",
        "tensor 0 int8 2x576460752303423489 x", ""}) {
    EXPECT_EQ(refused_line(std::string("step 1\n") + line + "\nstep 2\n"), 3) << line;
  }
  for (const char* const line :
       {"tensor 0 int8 1152921504606846976 x", "tensor 0 int8 2x576460752303423488 x",
        "tensor 0 int8 0x9223372036854775807 x", "tensor 0 int8 1x1x1x1x1x1x1x1x1 x",
        "bytes 0 18446744073709551615 x"}) {
    EXPECT_EQ(refused_line(std::string(line) + "\n"), 0) << line;
  }
  EXPECT_EQ(refused_line("text 0 1 x\n", 1), 0) << "the first version";
  EXPECT_EQ(refused_line("bytes 0 1 x\n", 1), 2);
  EXPECT_EQ(refused_line("text 0 1 x\n", 2), 2);
  EXPECT_EQ(refused_line("", 0), 1);
}

TEST(CheckpointManifest, SizesStayWithin64Bits) {
  const std::string half = "bytes 0 9223372036854775807 x\n";
  EXPECT_EQ(refused_line(half + half + "bytes 0 1 y\nbytes 0 0 z\n"), 0);
  EXPECT_EQ(refused_line(half + half + "bytes 0 2 y\n"), 4);
  EXPECT_EQ(refused_line(half + half + "bytes 0 1 y\nbytes 0 1 z\n"), 5);
  const std::string exbibyte = "tensor 0 int8 1152921504606846976 x\n";
  std::string many;
  for (int i = 0; i < 15; ++i) many += exbibyte;
  EXPECT_EQ(refused_line(many), 0);
  EXPECT_EQ(refused_line(many + exbibyte), 17);
}

TEST(CheckpointFolder, OnlyFoldersOfStepsAreCheckpoints) {
  const TemporaryFolder folder;
  for (const char* const name : {"step-12", "step-0000000007", "step-100", "step-", "step-x",
                                 "step-5x", "steps-4", "step-18446744073709551616"}) {
    fs::create_directory(folder.file(name));
  }
  folder.write("step-3", "a file");
  const std::vector<std::string> expected = {folder.file("step-0000000007"), folder.file("step-12"),
                                             folder.file("step-100")};
  EXPECT_EQ(training_checkpoints(folder.path()), expected);
  EXPECT_EQ(latest_training_checkpoint(folder.path()), folder.file("step-100"));
}

TEST(CheckpointFolder, OnlyLeftoversOfASaveAreRemoved) {
  const TemporaryFolder folder;
  for (const char* const name :
       {".step-1.partial", ".step-2.removed", ".step-3.other", ".mine.partial", "step-4.partial"}) {
    fs::create_directory(folder.file(name));
  }
  save_training_checkpoint(folder.path(), {.step = 5}, {.keep = 1});
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    left.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(left, ::testing::UnorderedElementsAre(".step-3.other", ".mine.partial",
                                                    "step-4.partial", "step-0000000005"));
  const TrainingCheckpoint saved =
      TrainingCheckpoint::open(*latest_training_checkpoint(folder.path()));
  EXPECT_EQ(error_of([&] { saved.tensor("x"); }).message(),
            "the checkpoint has no tensor 'x'; it has none");
  EXPECT_EQ(error_of([&] { saved.bytes("x"); }).message(),
            "the checkpoint has no bytes 'x'; it has none");
}

}  // namespace
}  // namespace infeed::detail
