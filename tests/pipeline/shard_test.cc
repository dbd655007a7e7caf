#include <infeed/pipeline/range.h>
#include <infeed/pipeline/shard.h>

#include "pipeline/stage_suite.h"
#include "pipeline/thrown_error.h"

namespace infeed::test {
namespace {

Slots sharded(const Slots& in, std::size_t count, std::size_t index) {
  Slots out;
  for (std::size_t i = index; i < in.size(); i += count) out.push_back(in[i]);
  return out;
}

TEST(Shard, PassesTheSuite) {
  // From 65 shards on the stage skips rather than drops.
  const std::vector<ShardOptions> cases = {{1, 0}, {2, 0},  {2, 1},   {3, 2},
                                           {7, 4}, {65, 3}, {100, 99}};
  for (const ShardOptions options : cases) {
    SCOPED_TRACE(options.index);
    run_stage_suite(
        [options](auto dataset) { return dataset | shard(options); },
        [options](const Slots& in) { return show_all(sharded(in, options.count, options.index)); });
  }
}

TEST(Shard, AllShardsTogetherAreTheInput) {
  std::vector<bool> seen(1000);
  for (std::uint64_t index = 0; index < 6; ++index) {
    for (const std::int64_t element :
         (range(1000) | shard({.count = 6, .index = index})).iterate()) {
      EXPECT_FALSE(seen[static_cast<std::size_t>(element)]);
      seen[static_cast<std::size_t>(element)] = true;
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 1000);
}

TEST(Shard, KnowsItsLength) {
  const auto length = [](std::int64_t size, std::uint64_t count, std::uint64_t index) {
    return (range(size) | shard({.count = count, .index = index})).cardinality().count();
  };
  EXPECT_EQ(length(10, 3, 0), 4);
  EXPECT_EQ(length(10, 3, 1), 3);
  EXPECT_EQ(length(10, 3, 2), 3);
  EXPECT_EQ(length(2, 3, 2), 0);
}

TEST(Shard, RefusesAnIndexThatIsNoShard) {
  for (const ShardOptions wrong : {ShardOptions{3, 3}, ShardOptions{0, 0}}) {
    const Error error = error_of([&] { range(3) | shard(wrong); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(
        error.message(),
        fmt::format("shard: index {} of {} shards; the index must be less than the count, and "
                    "the count at least 1",
                    wrong.index, wrong.count));
  }
}

}  // namespace
}  // namespace infeed::test
