#include "cache/store_journal.h"

#include <ctime>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <infeed/pipeline/flat_map.h>
#include <infeed/pipeline/range.h>
#include <infeed/records/line_journal.h>

#include "cache/stored_draws.h"
#include "records/temporary_files.h"

/// Journals of a file cache or snapshot that were forged with right checksums and make no sense.
namespace infeed::detail {
namespace {

constexpr std::string_view kFirst = "infeed elements 1";

StoreContent content_of(std::vector<std::string> lines) {
  const TemporaryFolder folder;
  lines.insert(lines.begin(), std::string(kFirst));
  const std::string file =
      folder.write("elements.journal", LineJournal::text_of(lines, LineChecksum::behind_text));
  return *read_journal(std::filesystem::path(file).parent_path().string());
}

std::string error_at(const std::string& position) {
  return "error\t" + position + "\tdata_loss\t\t\t\t\tno good";
}

TEST(StoreJournal, ShardsAndErrorsInTheirOrder) {
  const StoreContent content =
      content_of({error_at("0"), error_at("3"), "shard\ta\t10\t400", error_at("12"),
                  "shard\tb\t5\t200", error_at("17"), "end\t19"});
  EXPECT_EQ(content.values(), 15U);
  EXPECT_EQ(content.errors.size(), 4U);
  EXPECT_TRUE(content.complete);
}

/// The values of all shards before were added up at each shard: 12 s.
TEST(StoreJournal, AShardCostsTheSameHoweverManyThereAre) {
  constexpr std::size_t kShards = 150'000;
  std::vector<std::string> lines{std::string(kFirst)};
  for (std::size_t i = 0; i < kShards; ++i) lines.push_back(fmt::format("shard\t{}\t2\t40", i));
  lines.push_back(fmt::format("end\t{}", 2 * kShards));
  const TemporaryFolder folder;
  folder.write("elements.journal", LineJournal::text_of(lines, LineChecksum::behind_text));
  const std::clock_t begin = std::clock();  // CPU time
  const StoreContent content = *read_journal(folder.path().string());
  EXPECT_LT(std::clock() - begin, 3 * CLOCKS_PER_SEC);
  EXPECT_EQ(content.shards.size(), kShards);
  EXPECT_TRUE(content.complete);
}

/// It was read again and again.
TEST(StoreJournal, EndsAtAShardOfNoValues) {
  const StoreContent content = content_of({"shard\ta\t10\t400", "shard\tb\t0\t200", "end\t10"});
  EXPECT_EQ(content.shards.size(), 1U);
  EXPECT_FALSE(content.complete);
}

TEST(StoreJournal, EndsWhereTheSumIsNoNumber) {
  const StoreContent content =
      content_of({"shard\ta\t10\t400", "shard\tb\t18446744073709551615\t200", "end\t9"});
  EXPECT_EQ(content.shards.size(), 1U);
  EXPECT_FALSE(content.complete);
}

/// An error behind the end was searched beyond the file.
TEST(StoreJournal, EndsAtAnErrorThatHasNoPlace) {
  for (const char* const position : {"1000000", "13", "0", "18446744073709551615"}) {
    const StoreContent content = content_of(
        {error_at("1"), "shard\ta\t10\t400", error_at(position), "shard\tb\t1\t40", "end\t13"});
    EXPECT_EQ(content.shards.size(), 1U) << position;
    EXPECT_EQ(content.errors.size(), 1U) << position;
    EXPECT_FALSE(content.complete) << position;
  }
}

TEST(StoreJournal, SaysByWhatInnerDatasetsDrewWhateverIsCut) {
  StoreContent content = content_of({"drew\t1\tflat_map(seed=7)", "shard\ta\t10\t400",
                                     "drew\toutermost\t99", "shard\tb\t5\t200", "end\t15"});
  const std::vector<StoredDraw> expected = {{1, "flat_map(seed=7)"},
                                            {StoredDraw::kOutermost, "99"}};
  EXPECT_EQ(content.draws, expected);
  content.cut(0);
  const TemporaryFolder folder;
  folder.write("elements.journal", journal_of(content));
  EXPECT_EQ(read_journal(folder.path().string())->draws, expected);
}

TEST(StoreJournal, DrawsThatFitNoStageCountForNothing) {
  const auto stages = range(3) | flat_map([](std::int64_t x) { return range(x); });
  const auto seeds = [&](std::uint64_t stage, const std::string& line) {
    return seeds_in({{stage, line}}, *stages.node());
  };
  ASSERT_EQ(seeds(1, "flat_map(seed=7)").size(), 1U);
  EXPECT_EQ(seeds(1, "flat_map(seed=7)").begin()->first, stages.node().get());
  EXPECT_EQ(seeds(1, "flat_map(seed=7)").begin()->second.seed, 7U);
  for (const char* const line : {"flat_map(seed=)", "flat_map(seed=-1)", "flat_map", "", "seed=7",
                                 "flat_map(seed=99999999999999999999)"}) {
    EXPECT_TRUE(seeds(1, line).empty()) << line;
  }
  EXPECT_TRUE(seeds(0, "flat_map(seed=7)").empty());
  EXPECT_TRUE(seeds(2, "flat_map(seed=7)").empty());
}

}  // namespace
}  // namespace infeed::detail
