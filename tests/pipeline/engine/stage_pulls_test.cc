#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/infeed.h>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "pipeline/suite/stage_alone.h"
#include "thrown_error.h"

// The work of Stage itself around a stage's functions, pull by pull.
namespace infeed::test {
namespace {

using Ints = std::vector<int>;

ErrorPointer error_with(std::string message) {
  return std::make_shared<const Error>(ErrorCode::data_loss, std::move(message));
}

TEST(StagePulls, SayWhereAnErrorAroseAndCountItThere) {
  ErrorPointer next = error_with("own");
  StageAlone<Ints> alone([&](Chunk& out, std::size_t) {
    out.set_error(next);
    return Pull::values;
  });
  EXPECT_EQ(alone.stage.pull(alone.chunk, 5), Pull::values);
  EXPECT_EQ(alone.chunk.error()->message(), "own");
  EXPECT_EQ(alone.chunk.error()->stage(), "scripted");
  EXPECT_EQ(alone.counters.errors, 1U);
  EXPECT_EQ(alone.counters.errors_arisen, 1U);
  alone.chunk.clear();
  next = std::make_shared<const Error>(Error(ErrorCode::data_loss, "input's").at_stage("before"));
  EXPECT_EQ(alone.stage.pull(alone.chunk, 5), Pull::values);
  EXPECT_EQ(alone.chunk.error()->stage(), "before");
  EXPECT_EQ(alone.counters.errors, 2U);
  EXPECT_EQ(alone.counters.errors_arisen, 1U);
  EXPECT_EQ(alone.counters.elements, 2U);
  EXPECT_EQ(alone.counters.pulls, 2U);
  EXPECT_EQ(alone.counters.payload_each, 0U) << "no element has been seen";
}

TEST(StagePulls, GiveTheElementsBeforeAFailureAndThenTheFailureForEver) {
  for (const std::string where : {"", "of another stage"}) {
    SCOPED_TRACE(where);
    int calls = 0;
    StageAlone<std::int64_t> alone([&](Chunk& out, std::size_t) -> Pull {
      ++calls;
      out.append(std::int64_t{1});
      out.append(std::int64_t{2});
      Error error(ErrorCode::internal, "broke");
      if (!where.empty()) error.at_stage(where);
      throw error;
    });
    EXPECT_EQ(alone.stage.pull(alone.chunk, 5), Pull::values);
    EXPECT_EQ(alone.chunk.size(), 2U);
    EXPECT_EQ(alone.counters.elements, 2U);
    for (int i = 0; i < 2; ++i) {
      alone.chunk.clear();
      const Error error = error_of([&] { alone.stage.pull(alone.chunk, 5); });
      EXPECT_EQ(error.message(), "broke");
      EXPECT_EQ(error.stage(), where.empty() ? "scripted" : where);
    }
    EXPECT_EQ(error_of([&] { alone.stage.skip(1); }).message(), "broke");
    EXPECT_EQ(calls, 1);
  }
}

TEST(StagePulls, DropWhatCameDuringACancellation) {
  int calls = 0;
  StageAlone<std::int64_t>* running = nullptr;
  StageAlone<std::int64_t> alone([&](Chunk& out, std::size_t) {
    ++calls;
    out.append(std::int64_t{1});
    running->run.cancel();
    return Pull::values;
  });
  running = &alone;
  EXPECT_EQ(alone.stage.pull(alone.chunk, 5), Pull::cancelled);
  EXPECT_TRUE(alone.chunk.empty());
  EXPECT_EQ(alone.counters.elements, 0U);
  EXPECT_EQ(alone.stage.pull(alone.chunk, 5), Pull::cancelled);
  EXPECT_EQ(calls, 1);
}

TEST(StagePulls, SkipByDropping) {
  std::vector<std::size_t> wanted;
  std::int64_t next = 0;
  StageAlone<std::int64_t> alone([&](Chunk& out, std::size_t want) {
    wanted.push_back(want);
    if (next == 10) return Pull::end;
    for (std::size_t i = 0; i < 3 && i < want && next < 10; ++i) out.append(std::int64_t{next++});
    return Pull::values;
  });
  EXPECT_EQ(alone.stage.skip(0), 0U);
  EXPECT_THAT(wanted, IsEmpty());
  EXPECT_EQ(alone.stage.skip(4), 4U);
  EXPECT_EQ(alone.stage.position(), 4U);
  EXPECT_THAT(wanted, ElementsAre(4U, 1U));
  EXPECT_EQ(alone.stage.pull(alone.chunk, 1), Pull::values);
  EXPECT_EQ(alone.stage.position(), 5U);
  EXPECT_EQ(alone.chunk.values<std::int64_t>()[0], 4);
  EXPECT_EQ(alone.stage.skip(100), 5U) << "there are no more";
  EXPECT_EQ(alone.stage.position(), 10U);
  EXPECT_EQ(alone.counters.skipped, 9U);
  EXPECT_EQ(alone.counters.elements, 10U);
}

/// A stage that passes over elements without a look at them, of which there are ten.
class SkippingStage final : public Stage {
 public:
  using Stage::position;
  using Stage::Stage;
  Pull do_pull(Chunk&, std::size_t) override { return Pull::end; }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }
  std::uint64_t do_skip(std::uint64_t count, Known) override {
    counts.push_back(count);
    return std::min(count, 10 - position());
  }

  std::vector<std::uint64_t> counts;
};

TEST(StagePulls, SkipAsTheirStageDoes) {
  IteratorContext run{IterateOptions{}};
  detail::StageCounters counters;
  counters.label = "skips";
  SkippingStage stage({.run = run, .counters = &counters, .type = &type_info<std::int64_t>()});
  EXPECT_EQ(stage.label(), "skips");
  EXPECT_EQ(stage.trace(3).why(), "skips doesn't tell which records its elements are made of");
  EXPECT_EQ(stage.skip(0), 0U);
  EXPECT_EQ(stage.skip(3), 3U);
  EXPECT_EQ(stage.position(), 3U);
  EXPECT_EQ(stage.skip(8), 7U);
  EXPECT_EQ(stage.position(), 10U);
  EXPECT_EQ(counters.skipped, 10U);
  EXPECT_THAT(stage.counts, ElementsAre(3U, 8U));
  run.cancel();
  EXPECT_EQ(stage.skip(5), 0U);
  EXPECT_EQ(stage.counts.size(), 2U) << "a run that was cancelled passes over nothing";
}

TEST(StagePulls, AtAPositionNeedRandomAccess) {
  StageAlone<std::int64_t> alone([](Chunk&, std::size_t) { return Pull::end; });
  const std::vector<std::uint64_t> positions = {3};
  const Error error = error_of([&] { alone.stage.pull_at(alone.chunk, positions); });
  EXPECT_EQ(error.code(), ErrorCode::internal);
  EXPECT_EQ(error.message(), "pull_at was asked of a stage that has no random access");
}

TEST(StageNode, ResumesItsInputsWhereABookmarkSays) {
  const auto dataset = range(3) | filter([](std::int64_t) { return true; });
  const Bookmark bookmark{.pass = 2, .given = 5, .inputs = {77}};
  ResumedStage stage{.place = {.pass = 2, .position = 9, .is_read_again = true},
                     .bookmark = &bookmark,
                     .taken = 0,
                     .known = Known::nothing};
  const StreamPlace first = dataset.node()->input_resumed(0, stage);
  EXPECT_EQ(first.position, 77U);
  EXPECT_EQ(first.pass, 2U);
  EXPECT_TRUE(first.is_read_again);
  EXPECT_EQ(dataset.node()->input_resumed(1, stage).position, 0U);
  stage.bookmark = nullptr;
  EXPECT_EQ(dataset.node()->input_resumed(0, stage).position, 0U);
}

TEST(StageNode, RestsOnAPromiseThatAStageBeforeItMakes) {
  const auto half = filter([](std::int64_t x) { return x % 2 == 0; });
  const auto unchanged = map([](std::int64_t x) { return x; });
  EXPECT_TRUE((range(4) | half | assert_cardinality(2) | unchanged).node()->rests_on_a_promise());
  EXPECT_FALSE((range(4) | assert_cardinality(4) | unchanged).node()->rests_on_a_promise());
}

TEST(StageNode, HasANameOfPrintableCharacters) {
  const auto named = [](const std::string& name) { range(3, {.name = name}); };
  EXPECT_NO_THROW(named("two words~"));
  EXPECT_EQ(
      error_of([&] { named("\x1f"); }).message(),
      "range: its name has the byte 0x1f at 0; give 1 to 64 printable ASCII characters, or no "
      "name");
  EXPECT_EQ(
      error_of([&] { named("x\x7f"); }).message(),
      "range: its name has the byte 0x7f at 1; give 1 to 64 printable ASCII characters, or no "
      "name");
}

/// A node that draws, and keeps the context of the last stage that it made.
class DrawingNode final : public Node {
 public:
  explicit DrawingNode(const Seeds& seeds) : Node("draw", type_info<int>()), seeds_(seeds) {}
  std::optional<Seeds> seeds() const override { return seeds_; }
  const StageContext& last_made() const { return *last_made_; }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    last_made_.emplace(context);
    return std::make_unique<ScriptedStage>(context, [](Chunk&, std::size_t) { return Pull::end; });
  }

 private:
  const Seeds seeds_;
  mutable std::optional<StageContext> last_made_;
};

TEST(StageNode, OpensAStageOfAnInnerDatasetWithNumbersOfItsPlace) {
  const auto outer = range(1);
  const Node* const outermost = outer.node().get();
  constexpr std::uint64_t kKey = 74;
  const Philox numbers(kKey, 3);
  ASSERT_EQ(numbers.word_pair(1), 0x3d5333cdbf387aa6U) << "the lowest bit is to be set";
  struct Case {
    Seeds seeds;
    bool draws_anew;
    bool is_noted;
  };
  for (const auto& [seeds, draws_anew, is_noted] :
       {Case{{.seed = 5, .seed2 = 6, .drawn = true}, true, true},
        Case{{.seed = 5, .seed2 = 6, .drawn = true, .inner = true}, true, false},
        Case{{.seed = 5, .seed2 = 6}, false, false}}) {
    IteratorContext run{IterateOptions{}};
    StageContext consumer{.run = run, .counters = nullptr, .input_ordinal = 3};
    consumer.inner = {.outermost = outermost, .key = kKey};
    const DrawingNode node(seeds);
    node.open(consumer);
    const StageContext& made = node.last_made();
    EXPECT_EQ(made.inner.key, numbers.word_pair(0));
    EXPECT_EQ(made.seeds.seed, draws_anew ? 0x3d5333cdbf387aa7U : 5U);
    EXPECT_EQ(made.seeds.seed2, draws_anew ? numbers.word_pair(2) : 6U);
    EXPECT_EQ(run.seeds().for_checkpoint().contains(outermost), is_noted);
    EXPECT_EQ(made.input_ordinal, 0U);
    EXPECT_EQ(made.node, &node);
    EXPECT_EQ(made.type, &type_info<int>());
    ASSERT_NE(made.counters, nullptr);
    EXPECT_EQ(made.counters->name, "draw");
  }
}

TEST(StageNode, DrawsByItsOwnSeedsOutsideOfInnerDatasets) {
  IteratorContext run{IterateOptions{}};
  StageContext consumer{.run = run, .counters = nullptr};
  consumer.inner.key = 9;
  const DrawingNode node({.seed = 5, .seed2 = 6, .drawn = true});
  node.open(consumer);
  EXPECT_EQ(node.last_made().inner.key, 9U);
  EXPECT_EQ(node.last_made().seeds.seed, 5U);
  EXPECT_EQ(node.last_made().seeds.seed2, 6U);
}

/// Unseeded stages of inner datasets draw by their place, which is the same in each iteration.
TEST(InnerDraws, DifferFromPlaceToPlaceOnly) {
  const auto shuffled = [] { return range(20) | shuffle({.buffer = 20}); };
  const auto dataset =
      range(2) | flat_map([=](std::int64_t) { return zip(shuffled(), shuffled()); });
  const auto before = dataset.iterate({.epoch = 0}).checkpoint().signature;
  std::vector<std::vector<std::int64_t>> orders(4);
  auto iterator = dataset.iterate({.epoch = 0});
  for (std::size_t i = 0; i < 40; ++i) {
    const auto [left, right] = *iterator.next();
    orders[i / 20 * 2].push_back(left);
    orders[i / 20 * 2 + 1].push_back(right);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(orders[i], orders[j]) << i << " and " << j;
  }
  EXPECT_NE(iterator.checkpoint().signature, before) << "it has the seed from now on";
  auto again = dataset.iterate({.epoch = 0});
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(std::get<0>(*again.next()), orders[i / 20 * 2][i % 20]);
  }
}

}  // namespace
}  // namespace infeed::test
