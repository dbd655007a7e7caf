#include "convert.h"

#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/mount.h>

#include <infeed/error.h>
#include <infeed/records/example_schema.h>
#include <infeed/records/files.h>
#include <infeed/records/record_reader.h>

#include "tools/run_program.h"
#include "tools/small_dataset.h"
#include "tools/temporary_folder.h"

namespace infeed::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using tools::ConvertOptions;

struct Row {
  std::string image;
  std::int64_t label;
};

std::vector<Row> read_rows(const std::vector<std::string>& files) {
  const auto schema =
      ExampleSchema<Row>().feature("image", &Row::image).feature("label", &Row::label);
  std::vector<Row> rows;
  for (const std::string& file : files) {
    RecordReader reader(file);
    Record record;
    while (reader.next(record)) rows.push_back(schema.parse(record));
  }
  return rows;
}

std::string read_bytes(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// `count` images of 2x2, whose pixels and label follow from their number.
std::unique_ptr<tools::ExampleInput> numbered_input(const TemporaryFolder& folder,
                                                    std::uint32_t count) {
  std::vector<std::string> images;
  std::string labels;
  for (std::uint32_t i = 0; i < count; ++i) {
    images.push_back(big_endian(i));
    labels.push_back(static_cast<char>(i % 10));
  }
  write_images(folder.file("images"), 2, images);
  write_labels(folder.file("labels"), labels);
  return tools::open_idx_pair(folder.file("images"), folder.file("labels"));
}

TEST(Convert, KeepsOrderAndContentAtAnyShardCount) {
  const TemporaryFolder folder;
  for (const std::uint32_t count : {0U, 1U, 7U, 100U}) {
    const auto input = numbered_input(folder, count);
    for (const std::uint32_t shards : {1U, 3U, 16U}) {
      for (const Compression compression : {Compression::none, Compression::gzip}) {
        const tools::ConvertResult result =
            tools::convert(*input, {.prefix = folder.file(fmt::format("{}/set", count)),
                                    .shard_count = shards,
                                    .compression = compression});
        EXPECT_EQ(result.examples, count);
        ASSERT_THAT(result.files, SizeIs(shards));
        const std::vector<Row> rows = read_rows(result.files);
        ASSERT_THAT(rows, SizeIs(count));
        for (std::uint32_t i = 0; i < count; ++i) {
          EXPECT_EQ(rows[i].image, big_endian(i));
          EXPECT_EQ(rows[i].label, i % 10);
        }
      }
    }
  }
}

TEST(Convert, GivesTheSameBytesAtAnyThreadCount) {
  const TemporaryFolder folder;
  const auto input = numbered_input(folder, 1000);
  const auto with_threads = [&](int threads) {
    std::vector<std::string> bytes;
    for (const std::string& file :
         tools::convert(*input, {.prefix = folder.file(fmt::format("{}/set", threads)),
                                .shard_count = 5,
                                .compression = Compression::gzip,
                                .threads = threads})
             .files) {
      bytes.push_back(read_bytes(file));
    }
    return bytes;
  };
  EXPECT_EQ(with_threads(1), with_threads(4));
}

TEST(Convert, RefusesToOverwriteUnlessAsked) {
  const TemporaryFolder folder;
  const auto input = numbered_input(folder, 10);
  ConvertOptions options{.prefix = folder.file("set"), .shard_count = 2};
  const std::string second = tools::shard_files(options)[1];
  std::ofstream(second) << "mine";
  try {
    tools::convert(*input, options);
    FAIL() << "it was overwritten";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::already_exists);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("1 of the 2 shards"), HasSubstr(second), HasSubstr("--overwrite")));
  }
  EXPECT_EQ(read_bytes(second), "mine");
  EXPECT_FALSE(fs::exists(tools::shard_files(options)[0]));
  options.existing = ExistingFile::replace;
  EXPECT_THAT(read_rows(tools::convert(*input, options).files), SizeIs(10));
}

/// Stops the conversion when it asks for example `last`.
class StoppingInput final : public tools::ExampleInput {
 public:
  StoppingInput(std::uint64_t last, std::stop_source& stop) : last_(last), stop_(stop) {}
  std::uint64_t size() const override { return 100; }
  void add_features(std::uint64_t index, ExampleBuilder& builder) const override {
    builder.integers("label", std::int64_t(index));
    if (index == last_) stop_.request_stop();
  }
  std::string describe() const override { return "100 numbers"; }

 private:
  const std::uint64_t last_;
  std::stop_source& stop_;
};

TEST(Convert, AStopLeavesWholeShardsOnly) {
  const TemporaryFolder folder;
  std::stop_source stop;
  const StoppingInput input(57, stop);
  try {
    tools::convert(
        input,
        {.prefix = folder.file("set"), .shard_count = 10, .threads = 1, .stop = stop.get_token()});
    FAIL() << "it was not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
    EXPECT_THAT(error.message(), HasSubstr("5 of 10 shards are whole and were kept"));
  }
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    EXPECT_EQ(count_records(entry.path().string()), 10) << entry.path();
    ++count;
  }
  EXPECT_EQ(count, 5);
}

// From here on: the real program.

ProgramResult convert_folder(const std::string& data, const std::string& output,
                             ProgramOptions options = {}) {
  return run_infeed({"convert", "--data", data, "-o", output}, options);
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
  EXPECT_THAT(read_rows(match_files(folder.file("shards/test-*"))), SizeIs(20));
}

TEST(ConvertCommand, DatasetThatIsNotThere) {
  const TemporaryFolder folder;
  expect_failure(convert_folder(folder.file("none"), folder.file("shards")),
                 {"not found", "none", "does not exist", "dataset-fashion-mnist"});
  expect_failure(convert_folder(folder.path(), folder.file("shards")),
                 {"train-images-idx3-ubyte.gz is not in", "the folder is empty"});
  write_half(folder.path(), "train", 5, 1);
  expect_failure(convert_folder(folder.path(), folder.file("shards")),
                 {"t10k-images-idx3-ubyte.gz is not in", "it has 2 other files"});
  expect_failure(convert_folder(folder.file("train-images-idx3-ubyte"), folder.file("shards")),
                 {"is a file", "name the folder"});
  EXPECT_FALSE(fs::exists(folder.file("shards")));
}

TEST(ConvertCommand, DamagedDataset) {
  const TemporaryFolder folder;
  write_dataset(folder.path(), 50, 20);
  const std::string images = folder.file("train-images-idx3-ubyte");
  const std::string whole = read_bytes(images);

  std::ofstream(images, std::ios::binary) << whole.substr(0, 1000);
  expect_failure(convert_folder(folder.path(), folder.file("shards")),
                 {"data loss", "the file is cut", images});
  std::ofstream(images, std::ios::binary) << "PK\3\4" << whole;
  expect_failure(convert_folder(folder.path(), folder.file("shards")),
                 {"no IDX file", "50 4b 03 04"});
  std::ofstream(images, std::ios::binary) << "\x1f\x8b\x08" << whole;
  expect_failure(convert_folder(folder.path(), folder.file("shards")), {"data loss", images});
  std::ofstream(images, std::ios::binary) << whole;
  write_labels(folder.file("train-labels-idx1-ubyte"), std::string(49, '\1'));
  expect_failure(convert_folder(folder.path(), folder.file("shards")),
                 {"49 rows, but 50 are expected", "train-labels"});
}

TEST(ConvertCommand, FolderThatMayNotBeRead) {
  const TemporaryFolder folder;
  fs::create_directory(folder.file("data"));
  write_dataset(folder.file("data"), 5, 5);
  fs::permissions(folder.file("data"), fs::perms::none);
  expect_failure(convert_folder(folder.file("data"), folder.file("shards"), {.as_nobody = true}),
                 {"permission denied", "may not be read by you", folder.file("data")});
  fs::permissions(folder.file("data"), fs::perms::owner_all | fs::perms::others_all);
}

TEST(ConvertCommand, FolderThatMayNotBeWritten) {
  const TemporaryFolder folder;
  write_dataset(folder.path(), 5, 5);
  fs::create_directory(folder.file("shards"));
  fs::permissions(folder.file("shards"), fs::perms::owner_read | fs::perms::owner_exec |
                                             fs::perms::others_read | fs::perms::others_exec);
  expect_failure(convert_folder(folder.path(), folder.file("shards"), {.as_nobody = true}),
                 {"permission denied", folder.file("shards")});
  expect_failure(
      convert_folder(folder.path(), folder.file("shards/deeper/still"), {.as_nobody = true}),
      {"permission denied", "cannot make folder", "choose another"});
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
    EXPECT_THAT(file, HasSubstr(".tfrecord"));
    EXPECT_THAT(count_records(file), AnyOf(187, 188));
  }
  umount(disk.c_str());
  expect_failure(result, {"resource exhausted", "the disk is full", disk});
}

/// So many tiny images that converting them takes seconds.
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
    if (entry.path().filename().string().starts_with("data-")) ++count;
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
    const TemporaryFolder folder;
    const ProgramResult result = interrupt_conversion(folder, signal);
    EXPECT_EQ(result.status, 130) << result.err;
    EXPECT_LT(result.seconds_after_signal, 1.0);
    const std::size_t kept = visible_shards(folder.file("shards"));
    EXPECT_LT(kept, 200);
    EXPECT_EQ(result.err,
              fmt::format("infeed convert: stopped: {} of 200 shards are whole and were kept, "
                          "unfinished ones were removed\n",
                          kept));
    for (const auto& entry : fs::directory_iterator(folder.file("shards"))) {
      EXPECT_EQ(count_records(entry.path().string()), 60'000) << entry.path();
    }
  }
}

TEST(ConvertCommand, AKilledConversionLeavesNoHalfShardThatLooksWhole) {
  const TemporaryFolder folder;
  EXPECT_EQ(interrupt_conversion(folder, SIGKILL).status, 128 + SIGKILL);
  for (const std::string& file : match_files(folder.file("shards/*.tfrecord"))) {
    EXPECT_EQ(count_records(file), 60'000) << file;
  }
}

}  // namespace
}  // namespace infeed::testing
