#include "batch/fill/input_stretches.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <utility>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/error.h>
#include <infeed/pipeline/stage.h>

#include "batch/fill/input_rows.h"
#include "engine/iterator_context.h"
#include "engine/stage_counters.h"

// Stretches of an input: who may read the next one, how many are parked, and which are kept for
// reuse. Stretches of blocks are in row_filling_test.cc.
namespace infeed::test {
namespace {

using detail::InputRows;
using detail::OwnStretches;

std::shared_ptr<InputRows> pulled_rows() {
  auto rows = std::make_shared<InputRows>();
  rows->chunk.emplace(type_info<std::int64_t>());
  return rows;
}

TEST(OwnStretches, KeepsThreeAndTakesTheMostRecentWrittenOne) {
  OwnStretches own;
  std::vector<std::shared_ptr<InputRows>> rows;
  for (int i = 0; i < 4; ++i) {
    rows.push_back(std::make_shared<InputRows>());
    own.keep(rows.back());
  }
  EXPECT_FALSE(own.has(rows[0])) << "the oldest one went";
  for (int i = 1; i < 4; ++i) EXPECT_TRUE(own.has(rows[i])) << i;
  EXPECT_EQ(own.take_free(), nullptr) << "others hold them all";
  const std::vector<InputRows*> places = {rows[1].get(), rows[2].get()};
  rows[1].reset();
  rows[2].reset();
  EXPECT_EQ(own.take_free().get(), places[1]);
  EXPECT_EQ(own.take_free().get(), places[0]);
  EXPECT_EQ(own.take_free(), nullptr);
  EXPECT_TRUE(own.has(rows[3]));
}

TEST(OwnStretches, KeepsAPulledStretchAlone) {
  OwnStretches own;
  const auto block = std::make_shared<InputRows>();
  const auto pulled = pulled_rows();
  own.keep(block);
  own.keep(pulled);
  EXPECT_FALSE(own.has(block));
  EXPECT_TRUE(own.has(pulled));
  own.keep(block);
  EXPECT_TRUE(own.has(pulled));
}

TEST(OwnStretches, DropsThoseThatNobodyHolds) {
  OwnStretches own;
  const auto held = std::make_shared<InputRows>();
  auto free = std::make_shared<InputRows>();
  const std::weak_ptr<InputRows> watched = free;
  own.keep(held);
  own.keep(std::move(free));
  own.drop_free();
  EXPECT_TRUE(watched.expired());
  EXPECT_TRUE(own.has(held));
}

/// Gives numbers until `left` is 0, and then ends as it is told.
class CountedNumbers final : public Stage {
 public:
  using Stage::Stage;

  std::size_t asked = 0;  ///< by the last pull
  std::size_t left = 1'000'000;
  bool is_cancelled = false;
  bool fails = false;

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override {
    asked = want;
    if (is_cancelled) return Pull::cancelled;
    if (fails) throw Error(ErrorCode::data_loss, "the input is broken");
    if (left == 0) return Pull::end;
    const std::size_t count = std::min(want, left);
    for (std::size_t i = 0; i < count; ++i) out.append(std::int64_t{0});
    left -= count;
    return Pull::values;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }
};

class PulledStretches : public ::testing::Test {
 protected:
  explicit PulledStretches(std::uint64_t limit_bytes = 0)
      : run_(IterateOptions{.memory_bytes_max = limit_bytes}) {}

  auto claim(std::size_t pulled_max, bool is_written = true) {
    auto lock = hand_off_.lock();
    stretches_.begin_claim();
    EXPECT_FALSE(stretches_.can_claim(8, true)) << "one thread at a time claims";
    auto claimed = stretches_.claim(lock, own_, pulled_max, is_written);
    EXPECT_TRUE(lock.owns_lock());
    return claimed;
  }

  IteratorContext run_;
  detail::StageCounters counters_;
  detail::HandOff hand_off_;
  CountedNumbers input_{{.run = run_, .counters = &counters_, .type = &type_info<std::int64_t>()}};
  OwnStretches own_;
  detail::InputStretches stretches_{run_, counters_, hand_off_, input_, type_info<std::int64_t>()};
};

TEST_F(PulledStretches, ComeInTheOrderOfTheirClaims) {
  EXPECT_EQ(stretches_.front(), nullptr);
  EXPECT_EQ(stretches_.rows_max(), 1U);
  const auto first = claim(3);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->is_read);
  EXPECT_EQ(first->number, 0U);
  EXPECT_EQ(first->rows->size(), 3U);
  EXPECT_TRUE(first->rows->is_framed);
  EXPECT_FALSE(first->rows->is_end);
  EXPECT_EQ(first->rows->held.bytes(), 24U);
  EXPECT_EQ(stretches_.front(), first->rows);
  const auto second = claim(2);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->number, 1U);
  EXPECT_EQ(stretches_.front(), first->rows);
  stretches_.pop_front();
  EXPECT_EQ(stretches_.front(), second->rows);
  const auto third = claim(1);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->number, 2U);
  EXPECT_FALSE(stretches_.reads_blocks());
}

TEST_F(PulledStretches, HoldAChunkAtMost) {
  ASSERT_TRUE(claim(1'000'000));
  EXPECT_EQ(input_.asked, chunk_capacity(type_info<std::int64_t>()));
}

TEST_F(PulledStretches, ParkFourAThreadAndOne) {
  EXPECT_TRUE(stretches_.can_claim(0, true));
  ASSERT_TRUE(claim(1));
  EXPECT_FALSE(stretches_.can_claim(0, true));
  for (int i = 1; i < 5; ++i) {
    EXPECT_TRUE(stretches_.can_claim(1, false)) << i;
    ASSERT_TRUE(claim(1));
  }
  EXPECT_FALSE(stretches_.can_claim(1, true));
  EXPECT_TRUE(stretches_.can_claim(2, true));
  EXPECT_TRUE(stretches_.are_parked());
  stretches_.pop_front();
  EXPECT_TRUE(stretches_.can_claim(1, true));
}

TEST_F(PulledStretches, EndWithTheInput) {
  input_.left = 2;
  const auto whole = claim(5);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->rows->size(), 2U);
  EXPECT_FALSE(whole->rows->is_end);
  const auto end = claim(5);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->rows->is_end);
  EXPECT_EQ(end->rows->failure, nullptr);
  EXPECT_FALSE(stretches_.can_claim(8, true));
}

TEST_F(PulledStretches, EndWithTheErrorOfTheInput) {
  input_.fails = true;
  const auto end = claim(5);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->rows->is_end);
  ASSERT_NE(end->rows->failure, nullptr);
  EXPECT_EQ(end->rows->failure->message(), "the input is broken");
}

TEST_F(PulledStretches, AreStoppedWithTheRun) {
  input_.is_cancelled = true;
  EXPECT_FALSE(claim(5));
  EXPECT_TRUE(hand_off_.stopped());
  EXPECT_FALSE(stretches_.are_parked());
}

TEST_F(PulledStretches, AreNotClaimedBehindTheLastBlock) {
  stretches_.note_last_block();
  EXPECT_FALSE(stretches_.has_blocks_left());
  EXPECT_FALSE(stretches_.can_claim(8, true));
}

/// Room for one stretch of three numbers.
class StretchesInLittleMemory : public PulledStretches {
 protected:
  StretchesInLittleMemory() : PulledStretches(100) {}
};

TEST_F(StretchesInLittleMemory, WaitUntilAllOthersAreWritten) {
  const auto first = claim(3);
  ASSERT_TRUE(first);
  EXPECT_TRUE(stretches_.can_claim(1, false)) << "nobody knows yet that there is no room";
  EXPECT_FALSE(claim(3));
  EXPECT_FALSE(stretches_.can_claim(1, true));
  stretches_.pop_front();
  EXPECT_FALSE(stretches_.can_claim(1, false)) << "its rows aren't written";
  EXPECT_FALSE(claim(3, false));
  EXPECT_TRUE(stretches_.can_claim(1, true));
  const auto second = claim(3, true);
  ASSERT_TRUE(second) << "one is read even if there is no room";
  EXPECT_EQ(second->number, 1U);
  EXPECT_EQ(second->rows->held.bytes(), 24U);
  EXPECT_EQ(run_.memory().best_effort_bytes(), 48U);
  stretches_.pop_front();
  EXPECT_FALSE(stretches_.can_claim(1, false));
  stretches_.look_again();
  EXPECT_TRUE(stretches_.can_claim(1, false));
}

TEST_F(StretchesInLittleMemory, ReuseAKeptStretchAndDropTheOthersOnceItIsShort) {
  std::vector<std::weak_ptr<InputRows>> kept;
  const auto keep = [&] {
    auto rows = std::make_shared<InputRows>();
    rows->placed = 5;
    kept.push_back(rows);
    own_.keep(std::move(rows));
  };
  keep();
  keep();
  const auto first = claim(3);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->rows, kept[1].lock());
  EXPECT_EQ(first->rows->placed, 0U);
  EXPECT_FALSE(kept[0].expired());
  EXPECT_FALSE(claim(3)) << "there is no room";
  keep();
  keep();
  EXPECT_FALSE(claim(3));
  EXPECT_TRUE(kept[2].expired());
}

}  // namespace
}  // namespace infeed::test
