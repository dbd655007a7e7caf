#include <infeed/infeed.h>

#include "pipeline/suite/inner_sources.h"
#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

Stream flat_map_model(const Slots& in) {
  Stream stream;
  for (const Slot& outer : in) {
    bool opened = false;
    for (std::string& text : stream_of_inner(outer, opened)) stream.push_back(std::move(text));
  }
  return stream;
}

TEST(FlatMap, PassesTheSuite) {
  run_stage_suite(
      [](auto dataset) {
        using T = typename decltype(dataset)::element_type;
        return dataset | flat_map([](const T& outer) { return make_inner<T>(value_of(outer)); });
      },
      &flat_map_model, {.sizes = {0, 1, 2, 5, 33}});
}

TEST(FlatMap, IsStrictlySequential) {
  const auto all = range(4) | flat_map([](std::int64_t n) { return range(10 * n, 10 * n + n); });
  run_source_suite([&] { return all; }, numbers({10, 20, 21, 30, 31, 32}));
}

TEST(FlatMap, AnInnerStagesOwnFailureIsTerminal) {
  const auto inner = [](std::int64_t n) {
    return n == 2 ? breaking(range(20, 22)) : range(10 * n, 10 * n + n);
  };
  const Stream expected{"10", "20", "21", "!! the stage broke"};
  run_source_suite([&] { return range(4) | flat_map(inner); }, expected);
  run_source_suite([&] { return range(4) | flat_map(inner) | skip_errors() | prefetch(); },
                   expected);
}

TEST(FlatMap, ResumesWithoutOpeningWhatIsOver) {
  const auto opened = std::make_shared<std::atomic<int>>(0);
  const auto all = range(1000) | flat_map([opened](std::int64_t n) {
                     return range(1000) | map([opened, n](std::int64_t i) {
                              ++*opened;
                              return n * 1000 + i;
                            });
                   });
  Checkpoint checkpoint = all.iterate().checkpoint();
  checkpoint.position = 700'500;
  auto iterator = all.iterate({.resume = checkpoint});
  EXPECT_EQ(iterator.next(), 700'500);
  EXPECT_LE(*opened, static_cast<int>(kChunkElementsMax))
      << "functions were called for elements that are skipped";
}

TEST(FlatMap, GivesInnerShufflesTheSameOrderUnlessAsked) {
  const auto shuffled = [](std::int64_t) { return range(50) | shuffle({.buffer = 50, .seed = 1}); };
  const auto halves = [](const Stream& stream) {
    return std::pair(Stream(stream.begin(), stream.begin() + 50),
                     Stream(stream.begin() + 50, stream.begin() + 100));
  };
  const auto [a, b] = halves(stream_of(range(2) | flat_map(shuffled)));
  EXPECT_EQ(a, b);
  const auto apart = range(2) | flat_map(shuffled, {.seed_by_position = true}) | repeat(2);
  const Stream all = stream_of(apart);
  const auto [c, d] = halves(all);
  EXPECT_NE(c, d);
  const auto [e, f] = halves(Stream(all.begin() + 100, all.end()));
  EXPECT_NE(c, e) << "the second pass must have another order";
  EXPECT_NE(d, e);
  for (const std::size_t position : {1, 50, 99, 130, 199}) {
    Iterator<std::int64_t> iterator = apart.iterate({.epoch = 0});
    take_stream(iterator, position);
    EXPECT_EQ(stream_of(apart, {.resume = iterator.checkpoint()}),
              Stream(all.begin() + static_cast<std::ptrdiff_t>(position), all.end()));
  }
}

TEST(FlatMap, EndsAnInnerDatasetWhoseOwnerIsGone) {
  // No variable holds the function's dataset: the stage keeps its description alive.
  const auto all = range(3) | flat_map([](std::int64_t n) {
                     return range(n) | repeat(2) | batch(2) |
                            map([](const Batch<std::int64_t>& rows) { return rows[0]; });
                   });
  run_source_suite([&] { return all; }, numbers({0, 0, 0}));
}

/// A bookmark lies at each hundredth element, although an inner dataset gives 700 in one pull.
TEST(FlatMap, BookmarksLieWithinAPull) {
  const auto all = range(5) | flat_map([](std::int64_t n) {
                     return range(700 * n, 700 * n + 700) | map([](std::int64_t x) {
                              if (x % 97 == 3) throw std::invalid_argument("planted");
                              return x;
                            });
                   });
  auto iterator = all.iterate({.bookmark_every = 100});
  for (std::uint64_t given = 0; given < 3500; ++given) {
    const Checkpoint checkpoint = iterator.checkpoint();
    const std::uint64_t last = given == 0 ? 0 : (given - 1) / 100 * 100;
    ASSERT_EQ(checkpoint.bookmarks.size(), last == 0 ? 0U : 1U) << given;
    if (last > 0) {
      const Bookmark& bookmark = checkpoint.bookmarks[0];
      EXPECT_EQ(bookmark.given, last);
      EXPECT_EQ(700 * bookmark.inputs.at(0) + bookmark.state.at(0), last);
    }
    const Stream next = take_stream(iterator, 1);
    if (given % 53 != 0) continue;
    auto resumed = all.iterate({.resume = checkpoint, .bookmark_every = 100});
    EXPECT_EQ(take_stream(resumed, 1), next) << given;
  }
}

}  // namespace
}  // namespace infeed::test
