#include <atomic>
#include <fmt/format.h>
#include <functional>
#include <memory>

#include <infeed/infeed.h>

#include "pipeline/suite/shown.h"
#include "pipeline/suite/stream.h"
#include "pipeline/suite/test_sources.h"
#include "thrown_error.h"

// Errors among elements that are passed over: one that may pass ends the run, since the rest of its
// file may be missing behind it. Others are elements like any.

namespace infeed::test {
namespace {

constexpr std::string_view kWhy = "; it lies among elements that are passed over, so those behind";

/// A source that has trouble at one place while `code` is set. It is read to be passed over.
struct Source {
  std::shared_ptr<std::optional<ErrorCode>> code;
  std::int64_t place = 0;
  std::int64_t size = 0;

  explicit Source(std::int64_t its_place, std::int64_t its_size = 150)
      : code(std::make_shared<std::optional<ErrorCode>>()), place(its_place), size(its_size) {}

  Dataset<std::int64_t> dataset() const {
    return range(size) | map([code = code, place = place](std::int64_t x) {
             if (x == place && *code) {
               throw Error(**code, "the server has trouble").at_file("far/away").at_offset(7);
             }
             return x;
           }) |
           filter([](std::int64_t) { return true; });
  }
};

/// Checks that the stream is `begin`, and then ends with the trouble and the reason.
void expect_ended(const Stream& stream, const Stream& begin) {
  ASSERT_EQ(stream.size(), begin.size() + 1);
  EXPECT_EQ(Stream(stream.begin(), stream.end() - 1), begin);
  EXPECT_THAT(stream.back(), StartsWith(fmt::format("!! the server has trouble{}", kWhy)));
}

Stream from(const Stream& stream, std::size_t first) {
  return {stream.begin() + static_cast<std::ptrdiff_t>(std::min(first, stream.size())),
          stream.end()};
}

// --- shard ---------------------------------------------------------------------------------------

/// Shards that read what others have and drop it, and from 65 on shards that skip it.
class ErrorsOfOtherShards : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(, ErrorsOfOtherShards, ::testing::Values(2, 65));

TEST_P(ErrorsOfOtherShards, EndTheRunIfTheyMayPass) {
  const auto count = static_cast<std::int64_t>(GetParam());
  const Source source(count + 1, 4 * count);
  const auto first = source.dataset() | shard({.count = count, .index = 0});
  const Stream whole = stream_of(first);
  ASSERT_EQ(whole.size(), 4U);
  for (const ErrorCode code : {ErrorCode::unavailable, ErrorCode::deadline_exceeded}) {
    *source.code = code;
    auto iterator = first.iterate();
    const Stream begin = {whole[0], whole[1]};
    expect_ended(take_stream(iterator), begin);
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.file(), "far/away");
    EXPECT_EQ(error.offset(), 7U);
    expect_ended(stream_of(first | recut(3)), begin);
    // The shard whose element it would be is told of it, and decides.
    const auto second = source.dataset() | shard({.count = count, .index = 1});
    EXPECT_EQ(stream_of(second)[1], "! the server has trouble");
    EXPECT_EQ(stream_of(second).size(), 4U);
    *source.code = std::nullopt;
    EXPECT_EQ(stream_of(first, {.resume = iterator.checkpoint()}), from(whole, 2));
  }
}

TEST_P(ErrorsOfOtherShards, AreDroppedIfTheyAreHereToStay) {
  const auto count = static_cast<std::int64_t>(GetParam());
  const Source source(count + 1, 4 * count);
  const auto first = source.dataset() | shard({.count = count, .index = 0});
  const Stream whole = stream_of(first);
  for (const ErrorCode code : {ErrorCode::data_loss, ErrorCode::not_found}) {
    *source.code = code;
    EXPECT_EQ(stream_of(first), whole);
  }
}

/// Hosts that go on as others in number pass over what those took together.
TEST_P(ErrorsOfOtherShards, OfARunBeforeEndTheRunUnlessItHadSeenSome) {
  const auto count = static_cast<std::int64_t>(GetParam());
  const Source source(0, 6 * count);
  const auto before = source.dataset() | shard({.count = count, .index = 0});
  const auto now = source.dataset() | shard({.count = 3, .index = 1});
  for (const std::size_t taken : {1, 2}) {
    *source.code = std::nullopt;
    auto iterator = before.iterate();
    take_stream(iterator, taken);
    Checkpoint saved = reshard_checkpoint(iterator.checkpoint(), now);
    const Stream rest = stream_of(now, {.resume = saved});
    *source.code = ErrorCode::unavailable;
    expect_ended(stream_of(now, {.resume = saved}), {});
    saved.errors = 1;
    EXPECT_EQ(stream_of(now, {.resume = saved}), rest);
  }
}

// --- Every stage that passes over elements of its own ---------------------------------------------

struct Pipeline {
  std::string name;
  std::function<ShownDataset(const Dataset<std::int64_t>&)> make;
};

using Pair = std::tuple<std::int64_t, std::int64_t>;

/// Zips, and makes 3004 of the pair (3, 4).
Dataset<std::int64_t> pairs(const Dataset<std::int64_t>& left, const Dataset<std::int64_t>& right) {
  return zip(left, right) |
         map([](const Pair& pair) { return 1000 * std::get<0>(pair) + std::get<1>(pair); });
}

/// Returns the inner dataset of an outer element.
Dataset<std::int64_t> inner(std::int64_t x) { return range(x, x + 1); }

std::vector<Pipeline> pipelines() {
  using Numbers = Dataset<std::int64_t>;
  const auto same = [](std::int64_t x) { return x; };
  const auto half = [](std::int64_t x) { return x % 2 == 0; };
  return {
      {"nothing", [](const Numbers& in) { return in; }},
      {"filter", [=](const Numbers& in) { return in | filter(half); }},
      {"parallel_map", [=](const Numbers& in) { return in | map(same, {.parallelism = 2}); }},
      {"prefetch", [](const Numbers& in) { return in | prefetch(); }},
      {"shard", [](const Numbers& in) { return in | shard({.count = 2, .index = 1}); }},
      {"batch", [](const Numbers& in) { return in | batch(4); }},
      {"batch_again", [](const Numbers& in) { return in | batch(4) | unbatch() | batch(3); }},
      {"unbatch", [](const Numbers& in) { return in | batch(4) | unbatch(); }},
      {"rebatch", [](const Numbers& in) { return in | batch(4) | rebatch(3); }},
      {"window", [](const Numbers& in) { return in | window({.size = 3}); }},
      {"windows_overlap", [](const Numbers& in) { return in | window({.size = 3, .shift = 1}); }},
      {"windows_whole",
       [](const Numbers& in) {
         return in | window({.size = 3, .shift = 2, .drop_remainder = true});
       }},
      {"padded_batch",
       [](const Numbers& in) {
         return in | map([](std::int64_t x) {
                  return std::vector<std::int64_t>{x, x};
                }) |
                padded_batch(4) | unbatch();
       }},
      {"take", [](const Numbers& in) { return in | take(140); }},
      {"repeat", [](const Numbers& in) { return in | repeat(2); }},
      {"shuffle",
       [](const Numbers& in) {
         return in | shuffle({.buffer = 10, .seed = 1, .reshuffle_each_iteration = false});
       }},
      {"concatenate", [](const Numbers& in) { return range(3) | concatenate(in); }},
      {"zip_left", [](const Numbers& in) { return pairs(in, range(200)); }},
      {"zip_right", [](const Numbers& in) { return pairs(range(200), in); }},
      {"flat_map", [](const Numbers& in) { return in | flat_map(&inner); }},
      {"inner",
       [](const Numbers& in) { return range(2) | flat_map([in](std::int64_t) { return in; }); }},
      {"interleave",
       [](const Numbers& in) { return in | interleave(&inner, {.cycle_length = 3}); }},
      {"inner_of_interleave",
       [](const Numbers& in) {
         return range(3) | interleave([in](std::int64_t) { return in; },
                                      {.cycle_length = 2, .block_length = 5});
       }},
      {"parallel_interleave",
       [](const Numbers& in) {
         return range(3) | interleave([in](std::int64_t) { return in; },
                                      {.cycle_length = 2, .parallelism = 2});
       }},
      {"choose",
       [](const Numbers& in) {
         return choose_from_datasets({range(200), in},
                                     range(300) | map([](std::int64_t x) { return x % 2; }));
       }},
      {"choices",
       [](const Numbers& in) {
         return choose_from_datasets({range(200), range(200)},
                                     in | map([](std::int64_t x) { return x % 2; }));
       }},
      {"unique", [](const Numbers& in) { return in | unique(); }},
  };
}

std::size_t place_of_error(const Stream& stream) {
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (stream[i].starts_with("! ")) return i;
  }
  ADD_FAILURE() << "there is no error";
  return 0;
}

class StagesThatPassOverErrors : public ::testing::TestWithParam<Pipeline> {
 protected:
  ShownDataset made() const { return GetParam().make(source_.dataset()); }
  static Stream stream_of(const ShownDataset& dataset, IterateOptions options = {}) {
    return take_stream(*dataset.iterate(std::move(options)));
  }
  static ShownDataset behind(std::size_t count, const ShownDataset& dataset) {
    return dataset.with(detail::make_skip(static_cast<std::int64_t>(count), dataset.node()));
  }

  const Source source_{71};
};
INSTANTIATE_TEST_SUITE_P(, StagesThatPassOverErrors, ::testing::ValuesIn(pipelines()),
                         [](const auto& pipeline) { return pipeline.param.name; });

TEST_P(StagesThatPassOverErrors, EndTheRunAtASkipIfTheyMayPass) {
  const ShownDataset dataset = made();
  *source_.code = ErrorCode::data_loss;
  const Stream stream = stream_of(dataset);
  const std::size_t place = place_of_error(stream);
  for (const std::size_t count : {place, place + 1, place + 10}) {
    EXPECT_EQ(stream_of(behind(count, dataset)), from(stream, count));
  }
  *source_.code = ErrorCode::unavailable;
  EXPECT_EQ(stream_of(dataset), stream) << "nothing is passed over";
  EXPECT_EQ(stream_of(behind(place, dataset)), from(stream, place));
  // The next one of overlapping windows tells the error, too.
  const bool is_told_again = GetParam().name == "windows_overlap";
  for (const std::size_t count : {place + (is_told_again ? 3 : 1), place + 10}) {
    const Stream ended = stream_of(behind(count, dataset));
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_THAT(ended[0],
                AllOf(StartsWith("!! "), HasSubstr("the server has trouble"), HasSubstr(kWhy)));
  }
}

TEST_P(StagesThatPassOverErrors, EndAResumeIfTheRunBeforeHadSeenNone) {
  *source_.code = ErrorCode::unavailable;
  const std::size_t place = place_of_error(stream_of(made()));
  *source_.code = std::nullopt;
  const ShownDataset dataset = made();
  auto iterator = dataset.iterate({});
  take_stream(*iterator, place + 12);
  const Checkpoint checkpoint = iterator->checkpoint();
  const Stream rest = take_stream(*iterator);
  *source_.code = ErrorCode::unavailable;
  const Error error = error_of([&] { dataset.iterate({.resume = checkpoint}); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_TRUE(error.is_terminal());
  EXPECT_THAT(error.message(), HasSubstr(kWhy));
  *source_.code = std::nullopt;
  EXPECT_EQ(stream_of(dataset, {.resume = checkpoint}), rest);
}

TEST_P(StagesThatPassOverErrors, MeetThemAgainInAResume) {
  const ShownDataset dataset = made();
  for (const ErrorCode code : {ErrorCode::unavailable, ErrorCode::data_loss}) {
    *source_.code = code;
    const Stream stream = stream_of(dataset);
    const std::size_t place = place_of_error(stream);
    for (const std::size_t count : {place, place + 1, place + 2, place + 10}) {
      auto iterator = dataset.iterate({});
      take_stream(*iterator, count);
      EXPECT_EQ(stream_of(dataset, {.resume = iterator->checkpoint()}), from(stream, count));
      EXPECT_EQ(stream_of(dataset, {.resume = iterator->checkpoint(), .skip = 5}),
                from(stream, count + 5));
    }
  }
}

// --- Elements that a stage passes over while it runs -----------------------------------------------

TEST(PassedOverErrors, BetweenWindowsEndTheRun) {
  for (const bool drops_remainder : {false, true}) {
    for (const std::int64_t place : {2, 3, 6}) {
      const Source source(place, 8);
      const auto windows = [&] {
        return source.dataset() |
               window({.size = 2, .shift = 4, .drop_remainder = drops_remainder});
      };
      const Stream whole = stream_of(windows());
      *source.code = ErrorCode::data_loss;
      EXPECT_EQ(stream_of(windows()), whole);
      *source.code = ErrorCode::unavailable;
      const Stream begin(whole.begin(), whole.begin() + (place < 4 ? 1 : 2));
      expect_ended(stream_of(windows()), begin);
      expect_ended(stream_of(source.dataset() | recut(place) |
                             window({.size = 2, .shift = 4, .drop_remainder = drops_remainder})),
                   begin);
    }
  }
}

TEST(PassedOverErrors, OfARemainderOfWindowsEndTheRun) {
  const Source source(6, 7);
  const auto windows = source.dataset() | window({.size = 3, .drop_remainder = true});
  const Stream whole = stream_of(windows);
  *source.code = ErrorCode::data_loss;
  EXPECT_EQ(stream_of(windows), whole);
  *source.code = ErrorCode::unavailable;
  expect_ended(stream_of(windows), whole);
}

/// A window that the run before had told of the error isn't made again.
TEST(PassedOverErrors, ThatWindowsHaveToldMayComeAgain) {
  const Source source(4, 12);
  *source.code = ErrorCode::unavailable;
  const auto windows = source.dataset() | window({.size = 3, .shift = 3, .stride = 2});
  const Stream stream = stream_of(windows);
  EXPECT_EQ(stream[1], "{3 5 7}");
  for (std::size_t taken = 1; taken < stream.size(); ++taken) {
    auto iterator = windows.iterate();
    take_stream(iterator, taken);
    EXPECT_EQ(stream_of(windows, {.resume = iterator.checkpoint()}), from(stream, taken));
  }
}

/// The pairs behind it would be of elements that don't belong together.
TEST(PassedOverErrors, BesideAnotherSidesEndTheRun) {
  const Source left(5, 10);
  const Source right(5, 10);
  *left.code = ErrorCode::data_loss;
  for (const ErrorCode code : {ErrorCode::data_loss, ErrorCode::unavailable}) {
    *right.code = code;
    const Stream stream = stream_of(pairs(left.dataset(), right.dataset()));
    const Stream begin = {"0", "1001", "2002", "3003", "4004", "! the server has trouble"};
    if (code == ErrorCode::unavailable) {
      expect_ended(stream, begin);
    } else {
      EXPECT_EQ(stream.size(), 10U);
    }
  }
}

/// A zip begins anew if a side has come further than in a run, and meets what it has handed on.
TEST(PassedOverErrors, ThatAZipHasHandedOnMayComeAgain) {
  const Source left(65, 135);
  *left.code = ErrorCode::unavailable;
  const auto right =
      range(140) | filter([](std::int64_t) { return true; }) | assert_cardinality(138);
  const auto dataset = pairs(left.dataset(), right) | shard({.count = 65, .index = 0});
  EXPECT_EQ(stream_of(dataset), (Stream{"0", "! the server has trouble", "130130"}));
}

TEST(PassedOverErrors, BehindWhichACacheWouldBeIncompleteAreNotKept) {
  const Source source(71);
  const auto cached = source.dataset() | cache();
  *source.code = ErrorCode::unavailable;
  expect_ended(stream_of(cached | skip(100)), {});
  *source.code = std::nullopt;
  EXPECT_EQ(stream_of(cached | skip(100)), stream_of(range(100, 150)));
}

}  // namespace
}  // namespace infeed::test
