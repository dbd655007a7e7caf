#include <cstdint>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"
#include "engine/resume/bookmarks.h"
#include "engine/stage_counters.h"
#include "thrown_error.h"

// A resume within one stage.
namespace infeed::test {
namespace {

/// A stage that gives nothing, and goes where the test lets it.
class GoesToBookmarks final : public Stage, public Bookmarked {
 public:
  explicit GoesToBookmarks(const StageContext& context) : Stage(context), Bookmarked(context) {}
  using Bookmarked::bad_bookmark;
  using Bookmarked::every;
  using Bookmarked::pass_over;
  using Bookmarked::passes_multiple;

  bool go_to(const Bookmark&, Known) override { return can_go; }
  bool can_go = true;

 protected:
  Pull do_pull(Chunk&, std::size_t) override { return Pull::end; }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }
};

class BookmarkedStage : public ::testing::Test {
 protected:
  BookmarkedStage() { counters_.label = "goes"; }

  StageContext context() {
    return {.run = run_, .counters = &counters_, .type = &type_info<std::int64_t>()};
  }

  const Dataset<std::int64_t> numbers_ = range(10);
  IteratorContext run_{IterateOptions{.bookmark_every = 4}};
  detail::StageCounters counters_;
};

TEST_F(BookmarkedStage, NotesNoneInInnerDatasets) {
  EXPECT_EQ(GoesToBookmarks(context()).every(), 4U);
  StageContext inner = context();
  inner.inner.outermost = numbers_.node().get();
  EXPECT_EQ(GoesToBookmarks(inner).every(), 0U);
}

TEST_F(BookmarkedStage, PassesEachMultipleOnce) {
  GoesToBookmarks stage(context());
  std::vector<std::uint64_t> first_behind;
  for (const std::uint64_t place : {0U, 1U, 3U, 5U, 7U, 8U, 8U, 9U, 11U, 23U, 23U, 24U, 27U}) {
    if (stage.passes_multiple(place)) first_behind.push_back(place);
  }
  EXPECT_THAT(first_behind, ElementsAre(5U, 8U, 23U, 24U));
}

/// A damaged bookmark may hold any number.
TEST_F(BookmarkedStage, NoMultipleLiesBehindTheLastNumber) {
  for (const std::uint64_t every : {std::uint64_t{4}, std::uint64_t{3}, UINT64_MAX / 2 + 1}) {
    IteratorContext run{IterateOptions{.bookmark_every = every}};
    const StageContext of_run{
        .run = run, .counters = &counters_, .type = &type_info<std::int64_t>()};
    GoesToBookmarks stage(of_run);
    EXPECT_TRUE(stage.passes_multiple(UINT64_MAX - 1)) << every;
    EXPECT_EQ(stage.passes_multiple(UINT64_MAX), every == 3) << "it is " << every;
    EXPECT_FALSE(stage.passes_multiple(UINT64_MAX)) << every;
  }
  IteratorContext run{IterateOptions{.bookmark_every = 0}};
  const StageContext of_run{.run = run, .counters = &counters_, .type = &type_info<std::int64_t>()};
  GoesToBookmarks stage(of_run);
  EXPECT_FALSE(stage.passes_multiple(UINT64_MAX)) << "it notes none";
}

TEST_F(BookmarkedStage, PassesOverElementsThatMustBeThere) {
  const GoesToBookmarks stage(context());
  const auto input = numbers_.node()->open({.run = run_, .counters = nullptr});
  EXPECT_TRUE(stage.pass_over(*input, 4, Known::nothing));
  EXPECT_TRUE(stage.pass_over(*input, 0, Known::nothing));
  const Error error = error_of([&] { (void)stage.pass_over(*input, 7, Known::nothing); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_EQ(error.message(),
            "the checkpoint was taken when range had given 7 more elements, but there are 6 left; "
            "the data has changed since");
  run_.cancel();
  EXPECT_FALSE(stage.pass_over(*input, 1, Known::nothing));
}

TEST_F(BookmarkedStage, SaysHowFarItWent) {
  GoesToBookmarks stage(context());
  const Bookmark bookmark{.given = 10};
  EXPECT_EQ(detail::go_to_bookmark(stage, 3, bookmark, Known::nothing), 7U);
  stage.can_go = false;
  EXPECT_EQ(detail::go_to_bookmark(stage, 3, bookmark, Known::nothing), 0U);
}

TEST_F(BookmarkedStage, RefusesNumbersThatItNeverNotes) {
  const Error error = GoesToBookmarks(context()).bad_bookmark();
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(),
            "the checkpoint's bookmark of goes holds numbers that this stage never notes, so it is "
            "damaged; take an older checkpoint, or leave its bookmark lines out");
}

}  // namespace
}  // namespace infeed::test
