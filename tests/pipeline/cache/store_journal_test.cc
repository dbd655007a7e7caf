#include "cache/store_journal.h"

#include <fstream>
#include <gtest/gtest.h>

#include <infeed/records/line_journal.h>

#include "cache/element_store.h"
#include "records/temporary_files.h"

/// What the journal of a file cache or snapshot says, where somebody who can compute its checksums has
/// written what makes no sense.
namespace infeed::detail {
namespace {

constexpr std::string_view kFirst = "infeed elements 1";

StoreContent content_of(std::vector<std::string> lines) {
  const testing::TemporaryFolder folder;
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

/// An error behind the end was looked for outside of what there is.
TEST(StoreJournal, EndsAtAnErrorThatHasNoPlace) {
  for (const char* const position : {"1000000", "13", "0", "18446744073709551615"}) {
    const StoreContent content = content_of(
        {error_at("1"), "shard\ta\t10\t400", error_at(position), "shard\tb\t1\t40", "end\t13"});
    EXPECT_EQ(content.shards.size(), 1U) << position;
    EXPECT_EQ(content.errors.size(), 1U) << position;
    EXPECT_FALSE(content.complete) << position;
  }
}

}  // namespace
}  // namespace infeed::detail
