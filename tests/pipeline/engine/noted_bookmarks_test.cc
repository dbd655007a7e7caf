#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <infeed/pipeline/filter.h>
#include <infeed/pipeline/range.h>

#include "engine/iterator_counters.h"
#include "engine/resume/bookmarks.h"
#include "matchers.h"

// The bookmarks of one filter behind a range: which of them a checkpoint gets, and which are kept.
namespace infeed::test {
namespace {

using detail::Bookmarks;
using detail::StageCounters;

class NotedBookmarks : public ::testing::Test {
 protected:
  static ResumedStage root_at(std::uint64_t pass, std::uint64_t position) {
    return {.place = {.pass = pass, .position = position},
            .bookmark = nullptr,
            .taken = 0,
            .known = Known::nothing};
  }
  void note(std::uint64_t pass, std::uint64_t given, std::size_t numbers = 0) {
    bookmarks_.note(filter_,
                    {pass, given, std::array{2 * given}, std::vector<std::uint64_t>(numbers)});
  }
  /// Returns how many elements had been given at the bookmark that a checkpoint there gets.
  std::optional<std::uint64_t> given_at(std::uint64_t pass, std::uint64_t position) const {
    const auto found = bookmarks_.at(root_at(pass, position), *dataset_.node(), counters_);
    if (found.empty()) return std::nullopt;
    EXPECT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].stage, 1U) << "it belongs to the second line";
    EXPECT_EQ(found[0].pass, pass);
    return found[0].given;
  }
  void forget_before(std::uint64_t position) {
    bookmarks_.forget_before(root_at(0, position), *dataset_.node(), counters_);
  }
  /// Returns the length of the state of a bookmark that takes so many bytes.
  static std::size_t numbers_of(std::size_t bytes) {
    return (bytes - sizeof(detail::NotedBookmark)) / sizeof(std::uint64_t) - 1;
  }

  const Dataset<std::int64_t> dataset_ =
      range(100) | filter([](std::int64_t x) { return x % 2 == 0; });
  detail::IteratorCounters counters_;
  StageCounters& filter_ = counters_.of_stage(*dataset_.node(), nullptr, 0);
  Bookmarks bookmarks_{4};
};

TEST_F(NotedBookmarks, TheLastOneBeforeThePlaceInItsPassCounts) {
  EXPECT_EQ(given_at(0, 9), std::nullopt);
  note(0, 3);
  note(0, 7);
  note(1, 2);
  EXPECT_EQ(given_at(0, 3), std::nullopt);
  EXPECT_EQ(given_at(0, 4), 3U);
  EXPECT_EQ(given_at(0, 7), 3U);
  EXPECT_EQ(given_at(0, 100), 7U);
  EXPECT_EQ(given_at(1, 2), std::nullopt);
  EXPECT_EQ(given_at(1, 3), 2U);
  EXPECT_EQ(given_at(2, 3), std::nullopt);
  Bookmarks none(0);
  none.note(filter_, {0, 3, {}});
  EXPECT_THAT(none.at(root_at(0, 9), *dataset_.node(), counters_), IsEmpty());
}

TEST_F(NotedBookmarks, ThoseThatNoLaterCheckpointNeedsAreForgotten) {
  for (std::uint64_t given = 1; given <= 10; ++given) note(0, given);
  forget_before(6);
  EXPECT_EQ(given_at(0, 5), std::nullopt);
  EXPECT_EQ(given_at(0, 6), 5U);
  EXPECT_EQ(given_at(0, 11), 10U);
}

TEST_F(NotedBookmarks, OfThoseAtOnePlaceTheOneThatHasTakenMostIsKept) {
  for (const std::uint64_t taken : {4U, 9U, 7U, 9U})
    bookmarks_.note(filter_, {0, 3, std::array{taken}});
  bookmarks_.note(filter_, {0, 5, std::array<std::uint64_t, 1>{11}});
  bookmarks_.note(filter_, {0, 3, std::array<std::uint64_t, 1>{8}});
  const auto at = [this](std::uint64_t place) {
    return bookmarks_.at(root_at(0, place), *dataset_.node(), counters_).at(0).inputs;
  };
  EXPECT_THAT(at(4), ElementsAre(9U));
  EXPECT_THAT(at(6), ElementsAre(11U));
  // 16 KiB of them would be many.
  for (std::uint64_t taken = 12; taken < 2'000; ++taken)
    bookmarks_.note(filter_, {0, 5, std::array{taken}});
  EXPECT_FALSE(bookmarks_.are_many());
  EXPECT_THAT(at(6), ElementsAre(1'999U));
}

TEST_F(NotedBookmarks, MoreThan16KiBAreMany) {
  constexpr std::size_t kManyBytes = std::size_t{1} << 14;
  note(0, 1, numbers_of(kManyBytes));
  EXPECT_FALSE(bookmarks_.are_many());
  note(0, 1, numbers_of(kManyBytes));
  EXPECT_FALSE(bookmarks_.are_many()) << "it is the same one";
  note(0, 2);
  EXPECT_TRUE(bookmarks_.are_many());
  forget_before(3);
  EXPECT_FALSE(bookmarks_.are_many());
  note(0, 3, numbers_of(kManyBytes - 200));
  EXPECT_FALSE(bookmarks_.are_many());
}

TEST_F(NotedBookmarks, TwiceAsMuchAsIsNeededIsMany) {
  constexpr std::size_t kBytes = 12'000;
  note(0, 1, numbers_of(kBytes));
  note(0, 2, numbers_of(kBytes));
  EXPECT_TRUE(bookmarks_.are_many());
  forget_before(3);
  note(0, 3, numbers_of(kBytes));
  EXPECT_FALSE(bookmarks_.are_many());
  note(0, 4);
  EXPECT_TRUE(bookmarks_.are_many());
}

TEST_F(NotedBookmarks, EverySecondOneOfAStageGoesBeyondTwoMiB) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  note(0, 1, numbers_of(kMiB));
  note(0, 2, numbers_of(kMiB));
  forget_before(0);
  EXPECT_EQ(given_at(0, 3), 2U) << "two MiB are allowed";
  note(0, 3);
  forget_before(0);
  EXPECT_EQ(given_at(0, 2), 1U) << "the first one is needed";
  EXPECT_EQ(given_at(0, 3), 1U);
  EXPECT_EQ(given_at(0, 4), 3U);
}

/// As behind a rare filter, whose consumer waits.
TEST_F(NotedBookmarks, TooManyGoWhileNobodyForgetsAny) {
  constexpr std::uint64_t kCount = 200'000;
  for (std::uint64_t given = 1; given <= kCount; ++given) note(0, given);
  EXPECT_TRUE(bookmarks_.are_many());
  EXPECT_EQ(given_at(0, 2), 1U) << "the first one is needed";
  EXPECT_EQ(given_at(0, 9), 1U) << "others there are left out";
  const std::uint64_t last = given_at(0, kCount + 1).value();
  EXPECT_GE(last, kCount - 1) << "the last ones aren't";
  std::uint64_t left = 0;
  for (std::uint64_t place = kCount + 1; const auto given = given_at(0, place); place = *given)
    ++left;
  EXPECT_GT(left * sizeof(detail::NotedBookmark), std::size_t{1} << 19);
  EXPECT_LE(left * sizeof(detail::NotedBookmark), std::size_t{1} << 21);
}

TEST_F(NotedBookmarks, ACheckpointsAreTakenOverByTheirLines) {
  const StageCounters& range = *counters_.find(dataset_.node()->input(), &filter_, 0);
  bookmarks_.adopt({}, *dataset_.node(), counters_);
  EXPECT_EQ(bookmarks_.adopted(filter_, 0), nullptr);
  bookmarks_.adopt({{.stage = 1, .given = 9, .inputs = {1}},
                    {.stage = 1, .given = 9, .inputs = {2}},
                    {.stage = 1, .given = 5, .inputs = {3}},
                    {.stage = 1, .pass = 1, .given = 7},
                    {.stage = 0, .given = 4},
                    {.stage = 2, .given = 8}},
                   *dataset_.node(), counters_);
  ASSERT_NE(bookmarks_.adopted(filter_, 0), nullptr);
  EXPECT_EQ(bookmarks_.adopted(filter_, 0)->given, 9U) << "the last one of the pass";
  EXPECT_THAT(bookmarks_.adopted(filter_, 0)->inputs, ElementsAre(2U));
  EXPECT_EQ(bookmarks_.adopted(filter_, 0)->stage, 0U);
  ASSERT_NE(bookmarks_.adopted(filter_, 1), nullptr);
  EXPECT_EQ(bookmarks_.adopted(filter_, 1)->given, 7U);
  EXPECT_EQ(bookmarks_.adopted(filter_, 2), nullptr);
  ASSERT_NE(bookmarks_.adopted(range, 0), nullptr);
  EXPECT_EQ(bookmarks_.adopted(range, 0)->given, 4U);
  const StageCounters other;
  EXPECT_EQ(bookmarks_.adopted(other, 0), nullptr);
}

/// Numbers that a bookmark makes wrong on purpose: so they tell whether a resume has used it.
class UsedBookmark : public ::testing::Test {
 protected:
  /// Returns the first element behind a resume at `position` that passes `skip` more over.
  std::int64_t first_behind(std::uint64_t position, std::uint64_t skip, Bookmark bookmark) {
    bookmark.stage = 1;
    Checkpoint checkpoint = dataset_.iterate({.epoch = 0}).checkpoint();
    checkpoint.position = position;
    checkpoint.bookmarks = {std::move(bookmark)};
    auto iterator = dataset_.iterate({.resume = checkpoint, .skip = skip});
    return *iterator.next();
  }

  const Dataset<std::int64_t> dataset_ =
      range(100'000) | filter([](std::int64_t x) { return x % 2 == 0; });
};

TEST_F(UsedBookmark, LiesBehindTheBeginningAndNotBehindThePlace) {
  EXPECT_EQ(first_behind(9, 0, {.given = 8, .inputs = {50'000}}), 50'002);
  EXPECT_EQ(first_behind(8, 0, {.given = 8, .inputs = {50'000}}), 50'000);
  EXPECT_EQ(first_behind(7, 0, {.given = 8, .inputs = {50'000}}), 14) << "it lies behind the place";
  EXPECT_EQ(first_behind(3, 0, {.given = 0, .inputs = {50'000}}), 6) << "nothing was given there";
  EXPECT_EQ(first_behind(9, 0, {.pass = 1, .given = 8, .inputs = {50'000}}), 18) << "another pass";
}

/// A skip behind the place of the checkpoint may come by a bookmark, too.
TEST_F(UsedBookmark, LiesWhereASkipComesBy) {
  EXPECT_EQ(first_behind(3, 10, {.given = 8, .inputs = {50'000}}), 50'010);
  EXPECT_EQ(first_behind(3, 5, {.given = 8, .inputs = {50'000}}), 50'000);
  EXPECT_EQ(first_behind(3, 4, {.given = 8, .inputs = {50'000}}), 14);
  EXPECT_EQ(first_behind(3, 2, {.given = 3, .inputs = {50'000}}), 50'004)
      << "it is at the place itself";
}

}  // namespace
}  // namespace infeed::test
