#include <chrono>
#include <filesystem>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/record_writer.h>

#include "convert/convert.h"
#include "convert/inputs/open_input.h"
#include "convert/journal.h"
#include "convert/replacement.h"
#include "temporary_folder.h"
#include "thrown_error.h"
#include "tools/convert/numbered_inputs.h"
#include "tools/folder_content.h"

/// Conversions onto an existing dataset: whole, begun or damaged.
namespace infeed::test {
namespace {

using tools::ConvertOptions;
using tools::ExistingDataset;

TEST(Convert, AShardThatIsMissingOrDamagedIsMadeAnewAlone) {
  const TemporaryFolder folder;
  fs::create_directory(folder.file("out"));
  const auto input = numbered_input(folder, 100);
  ConvertOptions options{.prefix = folder.file("out/set"), .shard_count = 4, .seed = 1};
  const auto first = tools::convert(*input, options);
  const auto whole = folder_content(folder.file("out"));
  const auto modified = fs::last_write_time(first.files[0]);
  const auto expect_rebuilt = [&](std::uint32_t shard, const std::string& what) {
    const auto estimate = tools::estimate_conversion(*input, options);
    ASSERT_THAT(estimate.wrong, SizeIs(1));
    const auto rebuilt = tools::convert(*input, options);
    ASSERT_THAT(rebuilt.rebuilt, SizeIs(1));
    EXPECT_EQ(rebuilt.rebuilt[0].shard, shard);
    EXPECT_THAT(rebuilt.rebuilt[0].what, HasSubstr(what));
    EXPECT_EQ(difference(whole, folder_content(folder.file("out"))), "");
  };
  fs::remove(first.files[1]);
  expect_rebuilt(1, "00001-of-00004.tfrecord' is missing");
  fs::resize_file(first.files[2], 5);
  expect_rebuilt(2, "00002-of-00004.tfrecord' has 5 bytes instead of");
  fs::remove(first.files[3] + ".index");
  expect_rebuilt(3, "00003-of-00004.tfrecord.index' is missing");

  write_at(first.files[1], 50, "XX");
  EXPECT_TRUE(tools::convert(*input, options).was_complete) << "its size is right";
  options.check_content = true;
  expect_rebuilt(1, "00001-of-00004.tfrecord' has the checksum");
  EXPECT_EQ(fs::last_write_time(first.files[0]), modified) << "a good shard was touched";
}

/// Bytes that were written over others of an array became a dataset without a word. So they did
/// when the file was restored, time and all, and the same call went on with the shards.
TEST(Convert, AnInputThatChangesMeanwhileIsNoDataset) {
  const TemporaryFolder folder;
  const std::string file = folder.file("numbers.csv");
  write_whole(file, "number\n1\n2\n3\n4\n");
  const auto time = fs::last_write_time(file);
  for (const bool is_share : {false, true}) {
    for (const std::string_view other : {"number\n1\n2\n3\n5\n", "number\n5\n2\n3,3\n4\n"}) {
      SCOPED_TRACE(fmt::format("{} {}", is_share, other));
      ConvertOptions options{.prefix = folder.file("out//set"), .shard_count = 4, .threads = 1};
      if (is_share) options.share = Shard{.count = 1, .index = 0};
      const auto input = tools::open_input({file}, {});
      write_whole(file, other);
      fs::last_write_time(file, time + std::chrono::seconds(1));
      const Error error = error_of([&] { tools::convert(*input, options); });
      EXPECT_EQ(error.file(), file);
      EXPECT_THAT(error.message(),
                  AnyOf(HasSubstr("has changed while it was converted"), HasSubstr("2 fields")));
      for (const auto& [name, content] : folder_content(folder.file("out"))) {
        EXPECT_THAT(name, Not(HasSubstr(".tfrecord"))) << "it may hold a mixture";
      }

      write_whole(file, "number\n1\n2\n3\n4\n");
      fs::last_write_time(file, time);
      const auto again = tools::open_input({file}, {});
      const auto made = tools::convert(*again, options);
      EXPECT_EQ(made.shards_found, 0U);
      EXPECT_EQ(made.manifest.examples(), 4U);
      fs::remove_all(folder.file("out"));
    }
  }
}

/// An old dataset was lost for a new one that failed at a bad example.
TEST(Convert, ADatasetStaysUntilTheOneThatReplacesItIsWhole) {
  const TemporaryFolder folder;
  std::stop_source stop;
  ConvertOptions options{.prefix = folder.file("out/set"), .shard_count = 2, .threads = 1};
  tools::convert(NumberInput({}, 1000, stop), options);
  const auto old_files = folder_content(folder.file("out"));
  options.existing = ExistingDataset::replace;
  options.seed = 3;
  options.shard_count = 4;
  const Error bad = error_of([&] { tools::convert(NumberInput({37}, 1000, stop), options); });
  EXPECT_THAT(bad.message(), HasSubstr("number 37"));
  fs::rename(folder.file("out/.set.new"), folder.file("begun"));
  EXPECT_EQ(difference(old_files, folder_content(folder.file("out"))), "");
  fs::rename(folder.file("begun"), folder.file("out/.set.new"));
  const tools::DatasetNames names(options.prefix);
  EXPECT_THAT(tools::unfinished_replacement(names).value_or(""),
              HasSubstr(fmt::format("'{}' holds an unfinished dataset that was to replace 'set'",
                                    folder.file("out/.set.new"))));

  const auto made = tools::convert(NumberInput({}, 1000, stop), options);
  EXPECT_GT(made.shards_found, 0U) << "the same call goes on";
  EXPECT_FALSE(made.was_complete);
  EXPECT_FALSE(tools::unfinished_replacement(names));
  EXPECT_EQ(made.files[0], folder.file("out/set-00000-of-00004.tfrecord"));
  options.prefix = folder.file("fresh/set");
  tools::convert(NumberInput({}, 1000, stop), options);
  EXPECT_EQ(difference(folder_content(folder.file("fresh")), folder_content(folder.file("out"))),
            "");
}

/// Two that replace the same dataset would each remove what the other one has made.
TEST(Convert, OneAtATimeReplacesADataset) {
  const TemporaryFolder folder;
  std::stop_source stop;
  ConvertOptions options{.prefix = folder.file("out/set"), .shard_count = 2};
  tools::convert(NumberInput({}, 1000, stop), options);
  options.existing = ExistingDataset::replace;
  options.seed = 3;
  {
    const tools::Journal other(folder.file("out/.set.journal"), Durability::leave_to_system);
    const auto before = folder_content(folder.file("out"));
    const Error error = error_of([&] { tools::convert(NumberInput({}, 1000, stop), options); });
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_EQ(difference(before, folder_content(folder.file("out"))), "");
  }
  EXPECT_FALSE(tools::convert(NumberInput({}, 1000, stop), options).was_complete);
}

TEST(Convert, AFileOfTheInputIsntReplaced) {
  const TemporaryFolder folder;
  std::stop_source stop;
  ConvertOptions options{.prefix = folder.file("out/set"), .shard_count = 2};
  const auto made = tools::convert(NumberInput({}, 1000, stop), options);
  const auto before = folder_content(folder.file("out"));
  options.existing = ExistingDataset::replace;
  const auto itself = tools::open_input(made.files, {});
  const Error error = error_of([&] { tools::convert(*itself, options); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error.message(), HasSubstr("--name"));
  EXPECT_EQ(difference(before, folder_content(folder.file("out"))), "");
}

TEST(Convert, AShardOfAnotherInputDoesntTakeAPlaceInADataset) {
  const TemporaryFolder folder;
  fs::create_directory(folder.file("out"));
  ConvertOptions options{.prefix = folder.file("out/set"), .shard_count = 2};
  const auto first = tools::convert(*numbered_input(folder, 100), options);
  const auto modified = fs::last_write_time(folder.file("images"));
  const auto labels_modified = fs::last_write_time(folder.file("labels"));
  fs::remove(first.files[1]);
  const auto input = numbered_input(folder, 100);
  EXPECT_THROW(tools::convert(*input, options), Error) << "it was written at another time";
  write_at(folder.file("images"), 16 + 4 * 99, "XX");
  fs::last_write_time(folder.file("images"), modified);
  fs::last_write_time(folder.file("labels"), labels_modified);
  const auto changed = tools::open_idx_pair(folder.file("images"), folder.file("labels"));
  const Error error = error_of([&] { tools::convert(*changed, options); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("not to the bytes that the manifest names"),
                                  HasSubstr("--overwrite"), HasSubstr(first.files[1])));
  EXPECT_FALSE(fs::exists(first.files[1]));
}

/// Texts of 1 MiB, each made when it is asked for.
class LargeInput final : public ExampleInput {
 public:
  explicit LargeInput(std::uint64_t size) : size_(size) {}
  std::uint64_t size() const override { return size_; }
  std::unique_ptr<ExampleReader> open_reader() const override { return std::make_unique<Reader>(); }
  std::vector<std::string> columns() const override { return {"text"}; }
  std::string describe() const override { return "large texts"; }
  std::string name_of(std::uint64_t index) const override { return fmt::format("{}", index); }
  std::vector<InputFile> files() const override { return {}; }

 private:
  class Reader final : public FeatureReader {
    void add_features(std::uint64_t, ExampleBuilder& builder) override {
      builder.bytes("text", text_);
    }
    const std::string text_ = std::string((1 << 20) - 100, 'x');
  };
  const std::uint64_t size_;
};

TEST(Convert, WithoutANumberOfShardsTheSizeDecides) {
  const TemporaryFolder folder;
  const auto shards = [&](std::uint64_t mebibytes) {
    return tools::estimate_conversion(LargeInput(mebibytes),
                                      {.prefix = folder.file("x"), .shard_count = 0})
        .files.size();
  };
  EXPECT_EQ(shards(0), 1);
  EXPECT_EQ(shards(1), 1);
  EXPECT_EQ(shards(128), 1);
  EXPECT_EQ(shards(129), 2);
  EXPECT_EQ(shards(12'800), 100);
  EXPECT_EQ(shards(10'000'000), 4096) << "beyond that shards get larger";
}

TEST(Convert, WithoutANumberAConversionGoesOnWithTheOneItBeganWith) {
  const TemporaryFolder folder;
  std::stop_source stop;
  ConvertOptions options{
      .prefix = folder.file("set"), .shard_count = 10, .threads = 1, .stop = stop.get_token()};
  EXPECT_THROW(tools::convert(NumberInput({}, 57, stop), options), Error);
  options.stop = {};
  options.shard_count = 0;
  const auto resumed = tools::convert(NumberInput({}, 1000, stop), options);
  EXPECT_THAT(resumed.files, SizeIs(10));
  EXPECT_EQ(resumed.shards_found, 5);
  EXPECT_TRUE(tools::convert(NumberInput({}, 1000, stop), options).was_complete);
  options.existing = ExistingDataset::replace;
  EXPECT_THAT(tools::convert(NumberInput({}, 1000, stop), options).files, SizeIs(1));
}

}  // namespace
}  // namespace infeed::test
