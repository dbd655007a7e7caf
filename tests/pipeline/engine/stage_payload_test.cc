#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <numeric>
#include <utility>
#include <vector>

#include "pipeline/suite/stage_alone.h"

// How many elements a stage is asked for by the bytes that they own elsewhere.
namespace infeed::test {
namespace {

using Ints = std::vector<int>;

/// Gives elements that own as much as the test says.
class PayloadPulls : public ::testing::Test {
 protected:
  /// Pulls once. Returns how many elements the stage was asked for.
  std::size_t asked_for(std::size_t want) {
    alone_.chunk.clear();
    EXPECT_EQ(alone_.stage.pull(alone_.chunk, want), Pull::values);
    return asked_;
  }
  /// Pulls elements of these lengths when it is time to look at them. Returns the bytes that the
  /// next one is taken to own, and 1.
  std::uint64_t noted_behind(std::vector<std::size_t> lengths) {
    alone_.counters.payload_each = 1;
    return noted_by(7, std::move(lengths));
  }
  /// Does the same behind so many pulls.
  std::uint64_t noted_by(std::uint64_t pulls, std::vector<std::size_t> lengths) {
    alone_.counters.pulls = pulls;
    lengths_ = std::move(lengths);
    asked_for(100);
    return alone_.counters.payload_each;
  }
  std::uint64_t in_use_bytes() { return alone_.run.memory().in_use_bytes(); }

  std::size_t ints_ = 1;  ///< length of each element
  std::size_t ints_of_last_ = 0;
  std::size_t elements_max_ = 1000;
  std::vector<std::size_t> lengths_;  ///< the elements' lengths, if there are any
  std::uint64_t held_bytes_ = 0;      ///< counted for the chunk before it comes
  StageAlone<Ints> alone_{[this](Chunk& out, std::size_t want) {
    asked_ = want;
    if (held_bytes_ != 0) out.held().set(alone_.run.memory(), held_bytes_);
    for (const std::size_t length : lengths_) out.append(Ints(length));
    if (!lengths_.empty()) return Pull::values;
    const std::size_t count = std::min(want, elements_max_);
    for (std::size_t i = 0; i + 1 < count; ++i) out.append(Ints(ints_));
    out.append(Ints(ints_of_last_ != 0 ? ints_of_last_ : ints_));
    return Pull::values;
  }};

 private:
  std::size_t asked_ = 0;
};

TEST_F(PayloadPulls, AskForAsManyElementsAsOwn64KiBIfTheyAreLikeRecentOnes) {
  ints_ = 1000;
  EXPECT_EQ(asked_for(100), 1U) << "no element has been seen";
  EXPECT_EQ(asked_for(100), 16U) << "65,536 / 4,001";
  EXPECT_EQ(asked_for(10), 10U) << "never more than is wanted";
  ints_ = 1;
  EXPECT_EQ(asked_for(100), 16U);
  EXPECT_EQ(asked_for(100), 17U) << "the next ones may be large again: 65,536 / 3,751";
  EXPECT_EQ(asked_for(100), 18U) << "65,536 / 3,517";
  ints_ = 20'000;
  EXPECT_EQ(asked_for(16), 16U) << "small ones are looked at if there are many";
  EXPECT_EQ(asked_for(100), 1U) << "each owns more than 64 KiB";
}

TEST_F(PayloadPulls, CountInTheAccountBeyond64KiB) {
  ints_ = 16 * 1024;
  asked_for(1);
  EXPECT_EQ(in_use_bytes(), 0U);
  ints_ = 16 * 1024 + 1;
  asked_for(1);
  EXPECT_EQ(in_use_bytes(), 4U * (16 * 1024 + 1));
  alone_.chunk.clear();
  EXPECT_EQ(in_use_bytes(), 0U);
}

TEST_F(PayloadPulls, SeeALargeElementBehindSmallOnes) {
  asked_for(1);
  elements_max_ = 2;
  ints_of_last_ = 20'000;
  EXPECT_EQ(asked_for(100), 100U);
  EXPECT_EQ(in_use_bytes(), 4U * 20'001);
  EXPECT_EQ(asked_for(100), 1U) << "65,536 / 40,003";
}

TEST_F(PayloadPulls, LookAtSmallElementsInOneOfEight) {
  asked_for(1);
  EXPECT_EQ(alone_.counters.payload_each, 5U);
  elements_max_ = 10;
  ints_ = 10;
  for (int pull = 2; pull < 8; ++pull) asked_for(100);
  EXPECT_EQ(alone_.counters.payload_each, 5U);
  asked_for(100);
  EXPECT_EQ(alone_.counters.payload_each, 41U);
}

std::vector<std::size_t> ascending_lengths(std::size_t count) {
  std::vector<std::size_t> lengths(count);
  std::iota(lengths.begin(), lengths.end(), 0);
  return lengths;
}

/// Up to eight elements at equal distances stand for all.
TEST_F(PayloadPulls, LookAtAFewElementsOfMany) {
  EXPECT_EQ(noted_behind(ascending_lengths(17)), 31U) << "4 x (0 + 3 + 6 + 9 + 12 + 15) / 6";
  EXPECT_EQ(noted_behind(ascending_lengths(16)), 29U) << "4 x (0 + 2 + ... + 14) / 8";
  EXPECT_EQ(noted_behind({10, 10, 12}), 43U) << "128 / 3";
  EXPECT_EQ(noted_behind({7}), 29U);
}

TEST_F(PayloadPulls, ForgetASixteenthOfTheLargestOneInALook) {
  alone_.counters.payload_each = 1600;
  EXPECT_EQ(noted_by(7, {1}), 1500U);
  EXPECT_EQ(noted_by(7, {1}), 1407U);
  EXPECT_EQ(noted_by(7, {352}), 1409U) << "it is larger";
}

/// They are small while all of a chunk's would own less than a quarter of 64 KiB.
TEST_F(PayloadPulls, LookAtElementsThatMayBeLarge) {
  alone_.counters.payload_each = 1024;
  EXPECT_EQ(noted_by(0, std::vector<std::size_t>(15, 1)), 1024U);
  EXPECT_EQ(noted_by(0, std::vector<std::size_t>(16, 1)), 960U);
  alone_.counters.payload_each = 1;  // elements that own nothing
  EXPECT_EQ(noted_by(0, std::vector<std::size_t>(10, 1)), 1U);
}

TEST_F(PayloadPulls, LookAtALargeElementOnlyBehindOthers) {
  alone_.counters.payload_each = 5;
  EXPECT_EQ(noted_by(0, {20'000}), 5U) << "batches come alone, and each look costs time";
  EXPECT_EQ(in_use_bytes(), 0U);
  EXPECT_EQ(noted_by(0, {1, 16 * 1024}), 5U) << "it owns 64 KiB, not more";
  std::vector<std::size_t> lengths(17, 1);
  lengths.back() = 20'000;
  EXPECT_EQ(noted_by(0, lengths), 4710U) << "80,064 / 17: all are looked at";
  EXPECT_EQ(in_use_bytes(), 80'064U);
}

TEST_F(PayloadPulls, TakeTheBytesThatWereCountedBefore) {
  held_bytes_ = 5000;
  EXPECT_EQ(noted_behind({1, 1, 1, 20'000}), 1251U);
  EXPECT_EQ(in_use_bytes(), 5000U);
}

}  // namespace
}  // namespace infeed::test
