#include "engine/seeds/signature.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <infeed/infeed.h>

#include "matchers.h"

// A checkpoint's lines beside those of a pipeline: which seeds are taken over, and what is refused.
namespace infeed::test {
namespace {

using detail::match_signature;
using detail::SignatureMatch;

using Lines = std::vector<std::string>;

SignatureMatch match(const Lines& theirs, const Dataset<std::int64_t>& dataset) {
  return match_signature(theirs, *dataset.node(), std::equal_to<>());
}

const std::string kRange = "range(start=0, step=1, count=10)";

class SignatureOfAShuffle : public ::testing::Test {
 protected:
  static std::string line_with(std::uint64_t seed, std::uint64_t seed2, int buffer = 4) {
    return "shuffle(buffer=" + std::to_string(buffer) + ", seed=" + std::to_string(seed) +
           ", seed2=" + std::to_string(seed2) + ", reshuffle=true)";
  }

  const Dataset<std::int64_t> drawn_ = range(10) | shuffle({.buffer = 4});
  const Dataset<std::int64_t> given_ = range(10) | shuffle({.buffer = 4, .seed = 6});
};

TEST_F(SignatureOfAShuffle, TakesOverSeedsThatNobodyGave) {
  const SignatureMatch found = match({kRange, line_with(3, 5)}, drawn_);
  EXPECT_TRUE(found.is_whole);
  EXPECT_EQ(found.matched, 2U);
  EXPECT_THAT(found.ours, ElementsAre(kRange, line_with(3, 5)));
  ASSERT_EQ(found.adopted.size(), 1U);
  const Seeds& seeds = found.adopted.at(drawn_.node().get());
  EXPECT_EQ(seeds.seed, 3U);
  EXPECT_EQ(seeds.seed2, 5U);
  EXPECT_TRUE(seeds.drawn);
  EXPECT_FALSE(seeds.inner);
}

TEST_F(SignatureOfAShuffle, TakesOverNoSeedsWhereSomebodyGaveThem) {
  const SignatureMatch same = match({kRange, line_with(87654321, 6)}, given_);
  EXPECT_TRUE(same.is_whole);
  EXPECT_THAT(same.adopted, IsEmpty());
  const SignatureMatch other = match({kRange, line_with(87654321, 7)}, given_);
  EXPECT_FALSE(other.is_whole);
  EXPECT_EQ(other.matched, 1U);
  EXPECT_THAT(other.adopted, IsEmpty());
  EXPECT_THAT(other.ours, ElementsAre(kRange, line_with(87654321, 6)));
}

TEST_F(SignatureOfAShuffle, TakesOverNoSeedsOfAnotherStage) {
  for (const std::string& line :
       {line_with(3, 5, 9), std::string("shuffle(buffer=4, seed=x, seed2=5, reshuffle=true)"),
        std::string("shuffle(buffer=4)"), line_with(3, 5) + " "}) {
    const SignatureMatch found = match({kRange, line}, drawn_);
    EXPECT_FALSE(found.is_whole) << line;
    EXPECT_EQ(found.matched, 1U);
    EXPECT_THAT(found.adopted, IsEmpty());
  }
}

TEST_F(SignatureOfAShuffle, HasNoLineMoreAndNoneLess) {
  for (const Lines& lines : {Lines{}, Lines{kRange}, Lines{kRange, line_with(3, 5), "batch(2)"}}) {
    const SignatureMatch found = match(lines, drawn_);
    EXPECT_FALSE(found.is_whole) << lines.size();
    EXPECT_EQ(found.matched, std::min<std::size_t>(lines.size(), 2));
  }
}

TEST(SignatureOfAMap, MayHaveOneSeedAlone) {
  const auto dataset = range(10) | map([](std::int64_t x, Rng& rng) { return x + rng.below(2); });
  const std::string ours = detail::signature_of(*dataset.node()).at(1);
  const std::size_t begin = ours.find("seed=") + 5;
  ASSERT_NE(ours.find("seed="), ours.npos);
  std::string theirs = ours;
  theirs.replace(begin, ours.find_first_of(",)", begin) - begin, "77");
  const SignatureMatch found = match({kRange, theirs}, dataset);
  EXPECT_TRUE(found.is_whole);
  ASSERT_EQ(found.adopted.size(), 1U);
  EXPECT_EQ(found.adopted.begin()->second.seed, 77U);
  EXPECT_EQ(found.adopted.begin()->second.seed2, 0U);
}

TEST(SignatureOfAFlatMap, HasItsSeedsAsThoseOfInnerDatasets) {
  const auto dataset = range(10) | flat_map([](std::int64_t x) { return range(x); });
  const Node& node = *dataset.node();
  const Seeds seeds{.seed = 78, .drawn = true, .inner = true};
  const SignatureMatch found = match({kRange, node.signature_with(seeds)}, dataset);
  EXPECT_TRUE(found.is_whole);
  ASSERT_EQ(found.adopted.size(), 1U);
  EXPECT_EQ(found.adopted.at(&node).seed, 78U);
  EXPECT_TRUE(found.adopted.at(&node).inner);
}

TEST(SignatureOfAPrefetch, HasNoLine) {
  const SignatureMatch found = match({kRange}, range(10) | prefetch(2));
  EXPECT_TRUE(found.is_whole);
  EXPECT_THAT(found.ours, ElementsAre(kRange));
}

TEST(CheckEpoch, RefusesAnotherOneThanTheCheckpoints) {
  const Checkpoint saved{.epoch = 2, .signature = {}};
  EXPECT_NO_THROW(detail::check_epoch({}));
  EXPECT_NO_THROW(detail::check_epoch({.epoch = 3}));
  EXPECT_NO_THROW(detail::check_epoch({.resume = saved}));
  EXPECT_NO_THROW(detail::check_epoch({.resume = saved, .epoch = 2}));
  EXPECT_THROW(detail::check_epoch({.resume = saved, .epoch = 3}), Error);
}

}  // namespace
}  // namespace infeed::test
