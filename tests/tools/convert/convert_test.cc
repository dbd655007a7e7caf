#include "convert/convert.h"

#include <filesystem>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/files.h>
#include <infeed/records/record_reader.h>

#include "temporary_folder.h"
#include "thrown_error.h"
#include "tools/convert/inputs/image_rows.h"
#include "tools/convert/numbered_inputs.h"
#include "tools/folder_content.h"
#include "tools/small_dataset.h"

namespace infeed::test {
namespace {

using tools::ConvertOptions;
using tools::ExistingDataset;

TEST(Convert, KeepsOrderAndContentAtAnyShardCount) {
  const TemporaryFolder folder;
  for (const std::uint32_t count : {0U, 1U, 7U, 100U}) {
    const auto input = numbered_input(folder, count);
    for (const std::uint32_t shards : {1U, 3U, 16U}) {
      for (const Compression compression : {Compression::none, Compression::gzip}) {
        const tools::ConvertResult result =
            tools::convert(*input, {.prefix = folder.file(fmt::format("{}-{}-{}/set", count, shards,
                                                                      to_string(compression))),
                                    .shard_count = shards,
                                    .compression = compression});
        EXPECT_EQ(result.manifest.examples(), count);
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
      bytes.push_back(read_whole(file));
    }
    return bytes;
  };
  EXPECT_EQ(with_threads(1), with_threads(4));
}

TEST(Convert, RefusesToOverwriteUnlessAsked) {
  const TemporaryFolder folder;
  const auto input = numbered_input(folder, 10);
  ConvertOptions options{.prefix = folder.file("set"), .shard_count = 2};
  const std::string second = folder.file("set-00001-of-00002.tfrecord");
  write_whole(second, "mine");
  const Error error = error_of([&] { tools::convert(*input, options); });
  EXPECT_EQ(error.code(), ErrorCode::already_exists);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("1 of the 2 shards"), HasSubstr(second), HasSubstr("--overwrite")));
  EXPECT_EQ(read_whole(second), "mine");
  EXPECT_FALSE(fs::exists(folder.file(".set.journal")));
  // Shards with another total are removed, too: a pattern would find both.
  folder.write("set-00001-of-00007.tfrecord.gz", "old");
  folder.write("set-2-00001-of-00007.tfrecord", "another dataset");
  options.existing = ExistingDataset::replace;
  EXPECT_THAT(read_rows(tools::convert(*input, options).files), SizeIs(10));
  EXPECT_FALSE(fs::exists(folder.file("set-00001-of-00007.tfrecord.gz")));
  EXPECT_TRUE(fs::exists(folder.file("set-2-00001-of-00007.tfrecord")));
}

TEST(Convert, TheSameDatasetIsMadeOnce) {
  const TemporaryFolder folder;
  const auto input = numbered_input(folder, 10);
  ConvertOptions options{.prefix = folder.file("set"), .shard_count = 2};
  const auto first = tools::convert(*input, options);
  EXPECT_FALSE(first.was_complete);
  const auto second = tools::convert(*input, options);
  EXPECT_TRUE(second.was_complete);
  EXPECT_EQ(tools::to_text(second.manifest), tools::to_text(first.manifest));

  options.existing = ExistingDataset::replace_unless_same;
  EXPECT_TRUE(tools::convert(*input, options).was_complete);
  fs::remove(first.files[0]);
  EXPECT_FALSE(tools::convert(*input, options).was_complete);
  options.existing = ExistingDataset::refuse;
  EXPECT_TRUE(tools::convert(*input, options).was_complete);
}

TEST(Convert, AStopLeavesWholeShardsOnlyAndIsContinued) {
  const TemporaryFolder folder;
  std::stop_source stop;
  ConvertOptions options{
      .prefix = folder.file("set"), .shard_count = 10, .threads = 1, .stop = stop.get_token()};
  const Error error = error_of([&] { tools::convert(NumberInput({}, 57, stop), options); });
  EXPECT_EQ(error.code(), ErrorCode::cancelled);
  EXPECT_THAT(error.message(), HasSubstr("5 of 10 shards are finished and were kept"));
  EXPECT_THAT(match_files(folder.file("set-*.tfrecord")), SizeIs(5));
  for (const std::string& file : match_files(folder.file("set-*.tfrecord"))) {
    EXPECT_EQ(count_records(file), 10) << file;
  }
  options.stop = {};
  const auto resumed = tools::convert(NumberInput({}, 1000, stop), options);
  EXPECT_EQ(resumed.shards_found, 5);
  EXPECT_EQ(resumed.manifest.examples(), 100);
}

TEST(Convert, BadExamplesAreLeftOutUpToALimit) {
  const TemporaryFolder folder;
  std::stop_source unused;
  const NumberInput input({3, 50, 51}, 1000, unused);
  ConvertOptions options{.prefix = folder.file("set"), .shard_count = 4};
  const auto error_text = [&] {
    const Error error = error_of([&] { tools::convert(input, options); });
    EXPECT_EQ(error.code(), ErrorCode::data_loss);
    return error.message();
  };
  EXPECT_THAT(error_text(),
              AllOf(HasSubstr("it is bad; example number"), HasSubstr("with --quarantine-max N")));
  options.quarantine_max = 2;
  EXPECT_THAT(error_text(), HasSubstr("more than 2 are"));
  options.quarantine_max = 3;  // the plan is the same: finished shards are kept
  const auto result = tools::convert(input, options);
  EXPECT_EQ(result.manifest.examples(), 97);
  EXPECT_THAT(result.manifest.quarantined,
              ElementsAre(tools::QuarantinedExample{"number 3", "data_loss: it is bad"},
                          tools::QuarantinedExample{"number 50", "data_loss: it is bad"},
                          tools::QuarantinedExample{"number 51", "data_loss: it is bad"}));

  // Nor is a complete dataset good enough that has too many.
  const auto expect_too_many = [](const auto& call) {
    const Error error = error_of(call);
    EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr("3 bad examples were left out of the dataset, but at most 2 may be "
                                "(--quarantine-max)"),
                      HasSubstr("number 3: data_loss: it is bad")));
  };
  options.quarantine_max = 2;
  expect_too_many([&] { tools::convert(input, options); });
  expect_too_many([&] { tools::estimate_conversion(input, options); });
  options.share = Shard{.count = 2, .index = 0};
  expect_too_many([&] { tools::convert(input, options); });
  options.share.reset();
  fs::remove(result.files.front());
  expect_too_many([&] { tools::convert(input, options); });
  options.quarantine_max = 3;
  EXPECT_EQ(tools::convert(input, options).rebuilt.size(), 1);
  EXPECT_TRUE(tools::convert(input, options).was_complete);
}

TEST(Convert, AShuffledOrderHasEveryExampleOnce) {
  const TemporaryFolder folder;
  const auto input = numbered_input(folder, 200);
  const auto shuffled = [&](std::uint64_t seed) {
    std::vector<std::string> images;
    const auto result = tools::convert(
        *input, {.prefix = folder.file(fmt::format("{}", seed)), .shard_count = 3, .seed = seed});
    for (const Row& row : read_rows(result.files)) images.push_back(row.image);
    return images;
  };
  std::vector<std::string> first = shuffled(1);
  EXPECT_NE(first, shuffled(2));
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  std::sort(first.begin(), first.end());
  ASSERT_THAT(first, SizeIs(200));
  for (std::uint32_t i = 0; i < 200; ++i) EXPECT_EQ(first[i], big_endian(i));
}

TEST(Convert, ASplitHasEveryExampleInOnePart) {
  const TemporaryFolder folder;
  const auto input = numbered_input(folder, 500);
  std::vector<std::string> images;
  std::vector<std::size_t> sizes;
  for (const auto part : {tools::SplitPart::train, tools::SplitPart::validation}) {
    const auto result =
        tools::convert(*input, {.prefix = folder.file(fmt::format("part{}", sizes.size())),
                                .shard_count = 3,
                                .part = part,
                                .validation_share = 0.2});
    for (const Row& row : read_rows(result.files)) images.push_back(row.image);
    sizes.push_back(result.manifest.examples());
  }
  EXPECT_NEAR(static_cast<double>(sizes[1]), 100, 30);
  std::sort(images.begin(), images.end());
  ASSERT_THAT(images, SizeIs(500));
  EXPECT_EQ(std::unique(images.begin(), images.end()), images.end());
}

TEST(Convert, ShardsOfASize) {
  const TemporaryFolder folder;
  const auto input = numbered_input(folder, 1000);
  const auto result = tools::convert(*input, {.prefix = folder.file("set"), .shard_bytes = 10'000});
  EXPECT_GT(result.files.size(), 3);
  for (const std::string& file : result.files)
    EXPECT_NEAR(double(fs::file_size(file)), 10'000, 2'000);
  std::stop_source unused;
  const NumberInput large({}, 0, unused, 1'000'000);
  EXPECT_EQ(tools::estimate_conversion(*input, {.prefix = folder.file("x"), .shard_bytes = 1})
                .files.size(),
            1000)
      << "none without an example";
  const Error error =
      error_of([&] { tools::convert(large, {.prefix = folder.file("many"), .shard_bytes = 40}); });
  EXPECT_THAT(error.message(), HasSubstr("at most 99999 can be named"));
}

}  // namespace
}  // namespace infeed::test
