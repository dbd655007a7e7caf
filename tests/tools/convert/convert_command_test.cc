#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/mount.h>

#include <infeed/records/files.h>
#include <infeed/records/record_reader.h>

#include "matchers.h"
#include "quiet_run.h"
#include "sanitizers.h"
#include "temporary_folder.h"
#include "tools/convert/inputs/image_rows.h"
#include "tools/folder_content.h"
#include "tools/run_program.h"
#include "tools/small_dataset.h"

/// The real program.
namespace infeed::test {
namespace {

using ::testing::AnyOf;

ProgramResult convert_folder(const std::string& data, const std::string& output,
                             ProgramOptions options = {}) {
  return run_infeed({"convert", "--data", data, "-o", output, "--shards", "16"}, options);
}

void expect_failure(const ProgramResult& result, const std::vector<std::string>& said) {
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_THAT(result.err, StartsWith("infeed convert: "));
  for (const std::string& text : said) EXPECT_THAT(result.err, HasSubstr(text));
}

TEST(ConvertCommand, WritesBothHalves) {
  const TemporaryFolder folder;
  write_dataset(folder.path(), 50, 20);
  const ProgramResult result = convert_folder(folder.path(), folder.file("shards"));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("train: 50 images of 28x28 in 16 shards"),
                                HasSubstr("test: 20 images of 28x28 in 16 shards")));
  EXPECT_THAT(read_rows(match_files(folder.file("shards/train-*-of-00016.tfrecord"))), SizeIs(50));
  EXPECT_THAT(read_rows(match_files(folder.file("shards/test-*.tfrecord"))), SizeIs(20));
  EXPECT_THAT(match_files(folder.file("shards/test-*.index")), SizeIs(16));
}

TEST(ConvertCommand, DryRunWritesNothing) {
  const TemporaryFolder folder;
  write_dataset(folder.path(), 50, 20);
  const ProgramResult result =
      run_infeed({"convert", "--data", folder.path(), "-o", folder.file("shards"), "--shards", "16",
                  "--dry-run", "--json", folder.file("json")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("train: would write 50 images of 28x28 into 16 shards"),
                                HasSubstr("about 0.0 MB")));
  EXPECT_FALSE(fs::exists(folder.file("shards")));
  const auto json = nlohmann::json::parse(std::ifstream(folder.file("json")));
  EXPECT_EQ(json.at("dry_run"), true);
  EXPECT_EQ(json.at("sets").at(1).at("input_examples"), 20);
  EXPECT_NEAR(json.at("sets").at(0).at("bytes").get<double>(), 50 * 838, 500);
}

TEST(ConvertCommand, SplitsAndShufflesAndReportsAsJson) {
  const TemporaryFolder folder;
  write_dataset(folder.path(), 500, 20);
  const std::vector<std::string> words{"convert",
                                       "--data",
                                       folder.path(),
                                       "-o",
                                       folder.file("shards"),
                                       "--validation",
                                       "0.2",
                                       "--seed",
                                       "3",
                                       "--shards",
                                       "2",
                                       "--json",
                                       folder.file("json")};
  const ProgramResult result = run_infeed(words);
  EXPECT_EQ(result.status, 0) << result.err;
  const auto sets = nlohmann::json::parse(std::ifstream(folder.file("json"))).at("sets");
  ASSERT_EQ(sets.size(), 3);
  EXPECT_EQ(sets[0].at("name"), "train");
  EXPECT_EQ(sets[1].at("name"), "validation");
  EXPECT_EQ(sets[2].at("examples"), 20);
  EXPECT_EQ(sets[0].at("examples").get<int>() + sets[1].at("examples").get<int>(), 500);
  EXPECT_EQ(sets[0].at("was_complete"), false);
  const ProgramResult again = run_infeed(words);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("validation: complete already"));
}

TEST(ConvertCommand, DatasetThatIsNotThere) {
  const TemporaryFolder folder;
  expect_failure(convert_folder(folder.file("none"), folder.file("shards")),
                 {"not_found", "none", "does not exist", "dataset-fashion-mnist"});
  expect_failure(convert_folder(folder.path(), folder.file("shards")),
                 {"train-images-idx3-ubyte.gz is not in", "the folder is empty"});
  write_half(folder.path(), "train", 5, 1);
  expect_failure(convert_folder(folder.path(), folder.file("shards")),
                 {"t10k-images-idx3-ubyte.gz is not in", "it has 2 other files"});
  expect_failure(convert_folder(folder.file("train-images-idx3-ubyte"), folder.file("shards")),
                 {"is a file", "name the folder"});
  EXPECT_FALSE(fs::exists(folder.file("shards")));
}

TEST(ConvertCommand, OptionsThatChangeNothingOfAnIdxFolderAreRefused) {
  const TemporaryFolder folder;
  write_dataset(folder.path(), 50, 20);
  const std::vector<std::string> words{"convert", "--data", folder.path(), "-o",
                                       folder.file("shards")};
  const auto convert = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run_infeed(more);
  };
  expect_failure(convert({"--name", "mine"}), {"--name is for an INPUT", "train and test"});
  expect_failure(convert({"--split", "test", "--validation", "0.5"}),
                 {"--validation splits the training images"});
  EXPECT_FALSE(fs::exists(folder.file("shards")));
}

/// The sets of --validation have names of their own, so another one was passed over.
TEST(ConvertCommand, ANameBesideValidationIsRefused) {
  const TemporaryFolder folder;
  const std::string table = folder.write("t.csv", "a\n1\n2\n");
  expect_failure(run_infeed({"convert", table, "-o", folder.file("shards"), "--name", "mine",
                             "--validation", "0.5"}),
                 {"--name is given with --validation", "train and validation", "-o"});
  EXPECT_FALSE(fs::exists(folder.file("shards")));
}

TEST(ConvertCommand, DamagedDataset) {
  const TemporaryFolder folder;
  write_dataset(folder.path(), 50, 20);
  const std::string images = folder.file("train-images-idx3-ubyte");
  const std::string whole = read_whole(images);

  write_whole(images, whole.substr(0, 1000));
  expect_failure(convert_folder(folder.path(), folder.file("shards")),
                 {"data_loss", "the file is cut", images});
  write_whole(images, "PK\3\4" + whole);
  expect_failure(convert_folder(folder.path(), folder.file("shards")),
                 {"no IDX file", "50 4b 03 04"});
  write_whole(images, "\x1f\x8b\x08" + whole);
  expect_failure(convert_folder(folder.path(), folder.file("shards")), {"data_loss", images});
  write_whole(images, whole);
  write_labels(folder.file("train-labels-idx1-ubyte"), std::string(49, '\1'));
  expect_failure(convert_folder(folder.path(), folder.file("shards")),
                 {"49 rows, but 50 are expected", "train-labels"});
}

TEST(ConvertCommand, AHeaderThatLiesTakesNoMemory) {
  const TemporaryFolder folder;
  write_dataset(folder.path(), 50, 20);
  // 48 MiB that claim to be ten million images.
  const std::string images = folder.file("train-images-idx3-ubyte");
  write_whole(images, std::string("\0\0\x08\x03\0\x98\x96\x80\0\0\0\x1c\0\0\0\x1c", 16));
  fs::resize_file(images, 48 << 20);
  // The sanitizers themselves take more address space than that.
  const std::string limit = kAddressSanitizer || kThreadSanitizer ? "" : "ulimit -v 1000000; ";
  const std::string command = limit + "exec \"$0\" convert --data \"$1\" -o \"$2\"";
  expect_failure(run_infeed({"-c", command, INFEED_COMMAND, folder.path(), folder.file("shards")},
                            {.program = "/bin/sh"}),
                 {"data_loss", "the file is cut: 50331632 of the 7840000000 bytes"});
}

TEST(ConvertCommand, FolderThatMayNotBeRead) {
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::all);
  fs::create_directory(folder.file("data"));
  write_dataset(folder.file("data"), 5, 5);
  fs::permissions(folder.file("data"), fs::perms::none);
  expect_failure(convert_folder(folder.file("data"), folder.file("shards"), {.as_nobody = true}),
                 {"permission_denied", "may not be read by you", folder.file("data")});
  fs::permissions(folder.file("data"), fs::perms::owner_all | fs::perms::others_all);
}

TEST(ConvertCommand, FolderThatMayNotBeWritten) {
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::all);
  write_dataset(folder.path(), 5, 5);
  fs::create_directory(folder.file("shards"));
  fs::permissions(folder.file("shards"), fs::perms::owner_read | fs::perms::owner_exec |
                                             fs::perms::others_read | fs::perms::others_exec);
  expect_failure(convert_folder(folder.path(), folder.file("shards"), {.as_nobody = true}),
                 {"permission_denied", folder.file("shards")});
  expect_failure(
      convert_folder(folder.path(), folder.file("shards/deeper/still"), {.as_nobody = true}),
      {"permission_denied", "cannot make the folder", "or choose a folder"});
}

TEST(ConvertCommand, FullDisk) {
  const TemporaryFolder folder;
  write_dataset(folder.path(), 3000, 20);
  const std::string disk = folder.file("disk");
  fs::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_LOG_(INFO) << "not root: a full disk can't be made here";
    return;
  }
  const ProgramResult result = convert_folder(folder.path(), disk);
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(disk)) left.push_back(entry.path().string());
  for (const std::string& file : left) {
    EXPECT_THAT(file, AnyOf(HasSubstr(".tfrecord"), HasSubstr(".train.plan.json"),
                            HasSubstr(".train.journal")));
    if (file.ends_with(".tfrecord")) {
      EXPECT_THAT(count_records(file), AnyOf(187, 188));
    }
  }
  umount(disk.c_str());
  expect_failure(result, {"resource_exhausted", "the disk is full", disk});
}

/// Writes so many tiny images that converting them takes seconds.
void write_many_images(const TemporaryFolder& folder) {
  constexpr std::uint32_t kCount = 12'000'000;
  std::ofstream(folder.file("images"), std::ios::binary)
      << std::string("\0\0\x08\x03", 4) << big_endian(kCount) << big_endian(1) << big_endian(1);
  fs::resize_file(folder.file("images"), 16 + kCount);
  std::ofstream(folder.file("labels"), std::ios::binary)
      << std::string("\0\0\x08\x01", 4) << big_endian(kCount);
  fs::resize_file(folder.file("labels"), 8 + kCount);
}

std::size_t visible_shards(const std::string& folder) {
  std::error_code ignored;
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("data-") && name.ends_with(".tfrecord")) ++count;
  }
  return count;
}

ProgramResult interrupt_conversion(const TemporaryFolder& folder, int signal) {
  write_many_images(folder);
  const std::string shards = folder.file("shards");
  return run_infeed(
      {"convert", "--images", folder.file("images"), "--labels", folder.file("labels"), "-o",
       shards, "--shards", "200", "--threads", "1"},
      {.send_signal_when = [&] { return visible_shards(shards) >= 2; }, .signal = signal});
}

TEST(ConvertCommand, CtrlCLeavesWholeShardsOnly) {
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_TRUE(holds_in_a_quiet_run([signal] {
      const TemporaryFolder folder;
      const ProgramResult result = interrupt_conversion(folder, signal);
      if (result.status == 0) return false;  // it was through before it could be interrupted
      EXPECT_EQ(result.status, 130) << result.err;
      const std::size_t kept = visible_shards(folder.file("shards"));
      EXPECT_LT(kept, 200);
      EXPECT_EQ(result.err,
                fmt::format("infeed convert: stopped: {} of 200 shards are finished and were kept; "
                            "the same command goes on from there\n",
                            kept));
      EXPECT_FALSE(fs::exists(folder.file("shards/data.manifest.json")));
      for (const std::string& file : match_files(folder.file("shards/*.tfrecord"))) {
        EXPECT_EQ(count_records(file), 60'000) << file;
      }
      EXPECT_THAT(match_files(folder.file("shards/*")), SizeIs(2 * kept)) << "with their indices";
      return result.seconds_after_signal < 1.0 * kTimesSlower;
    }));
  }
}

TEST(ConvertCommand, AKilledConversionLeavesNoHalfShardThatLooksWhole) {
  EXPECT_TRUE(holds_in_a_quiet_run([] {
    const TemporaryFolder folder;
    const int status = interrupt_conversion(folder, SIGKILL).status;
    for (const std::string& file : match_files(folder.file("shards/*.tfrecord"))) {
      EXPECT_EQ(count_records(file), 60'000) << file;
    }
    return status == 128 + SIGKILL;  // otherwise it was through before
  }));
}

}  // namespace
}  // namespace infeed::test
