#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/stream.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using Calls = std::shared_ptr<std::atomic<std::uint64_t>>;

Calls no_calls() { return std::make_shared<std::atomic<std::uint64_t>>(0); }

/// A filter that keeps about half, and counts its calls.
auto half(const Calls& calls) {
  return filter([calls](std::int64_t x) {
    calls->fetch_add(1, std::memory_order_relaxed);
    return (static_cast<std::uint64_t>(x) * 0x9E3779B97F4A7C15U) >> 63 == 0;
  });
}

/// Takes `steps` elements, saves, and goes on in the dataset described anew. Returns the calls of
/// the resume, up to its first element.
template <class Make>
std::uint64_t calls_of_resume(const Make& make, std::uint64_t steps) {
  const Calls before = no_calls();
  auto straight = make(before).iterate();
  take_stream(straight, steps);
  const Checkpoint checkpoint = Checkpoint::from_text(straight.checkpoint().to_text());
  EXPECT_EQ(checkpoint, straight.checkpoint());
  EXPECT_LT(checkpoint.to_text().size(), 1024) << checkpoint.to_text();
  const Calls calls = no_calls();
  auto resumed = make(calls).iterate({.resume = checkpoint});
  const Stream next = take_stream(resumed, 1);
  const std::uint64_t called = *calls;
  EXPECT_EQ(next, take_stream(straight, 1));
  EXPECT_EQ(take_stream(resumed, 3000), take_stream(straight, 3000));
  return called;
}

TEST(Bookmarks, FilterGoesOnFromTheLastOne) {
  const auto make = [](const Calls& calls) { return range(10'000'000) | half(calls); };
  EXPECT_LE(calls_of_resume(make, 1'000'000), 4 * 1024);
}

TEST(Bookmarks, BehindPrefetchBatchAndShuffle) {
  const auto make = [](const Calls& calls) {
    return range(10'000'000) | half(calls) | shuffle({.buffer = 1000, .seed = 1}) | batch(16) |
           prefetch(20);
  };
  EXPECT_LE(calls_of_resume(make, 60'000), 100'000U);
}

TEST(Bookmarks, ThroughTwoFilters) {
  const auto make = [](const Calls& calls) {
    return range(10'000'000) | half(calls) | filter([](std::int64_t x) { return x % 3 != 0; });
  };
  EXPECT_LE(calls_of_resume(make, 300'000), 8 * 1024);
}

/// The number of threads may change in a resume, and the input may have errors.
TEST(Bookmarks, AFilterOnThreadsNotesTheSame) {
  const auto make = [](Count threads) {
    const auto some_fail = [](std::int64_t x) {
      if (x % 997 == 5 || x % 4096 == 0) throw std::invalid_argument("planted");
      return x;
    };
    return range(10'000'000) | map(some_fail) |
           filter([](std::int64_t x) { return (x * 2654435761) % 7 < 3; },
                  {.parallelism = threads});
  };
  SeededRandom random;
  for (int i = 0; i < 8; ++i) {
    const std::size_t steps = 1 + random.below(20'000);
    SCOPED_TRACE(steps);
    auto serial = make(1).iterate();
    auto threaded = make(4).iterate();
    EXPECT_EQ(take_stream(serial, steps), take_stream(threaded, steps));
    const Checkpoint checkpoint = serial.checkpoint();
    EXPECT_EQ(checkpoint.bookmarks, threaded.checkpoint().bookmarks);
    for (const Count threads : {Count(1), Count(3)}) {
      auto resumed = make(threads).iterate({.resume = checkpoint});
      auto straight = make(2).iterate();
      take_stream(straight, steps);
      EXPECT_EQ(take_stream(resumed, 2000), take_stream(straight, 2000));
    }
  }
  const auto counted = [](const Calls& calls) {
    return range(10'000'000) | filter(
                                   [calls](std::int64_t x) {
                                     calls->fetch_add(1, std::memory_order_relaxed);
                                     return x % 2 == 0;
                                   },
                                   {.parallelism = 2});
  };
  EXPECT_LE(calls_of_resume(counted, 1'000'000), 100'000U);
}

TEST(Bookmarks, RepeatOfUnknownLength) {
  const auto make = [](const Calls& calls) { return range(100'000) | half(calls) | repeat(); };
  EXPECT_LE(calls_of_resume(make, 1'000'000), 4 * 1024);
}

TEST(Bookmarks, BehindConcatenateAndTakeWhile) {
  const auto make = [](const Calls& calls) {
    return (range(200'000) | half(calls) | concatenate(range(5'000'000) | half(calls))) |
           take_while([](std::int64_t x) { return x < 4'000'000; });
  };
  EXPECT_LE(calls_of_resume(make, 500'000), 8 * 1024);
}

TEST(Bookmarks, BehindACacheThatIsRead) {
  const auto make = [](const Calls& calls) {
    return range(300'000) | half(calls) | cache() | repeat(3);
  };
  EXPECT_LE(calls_of_resume(make, 400'000), 310'000U) << "a pass of the cache isn't kept";
}

std::vector<std::int32_t> document(std::int64_t x) {
  return std::vector<std::int32_t>(1 + (static_cast<std::uint64_t>(x) * 0x9E3779B97F4A7C15U >> 58),
                                   static_cast<std::int32_t>(x));
}

/// Returns a number for the batch's tokens and where each document lies.
std::int64_t digest(const ColumnBatch& batch) {
  std::uint64_t digest = 0;
  for (const Column& column : batch.columns()) {
    for (const std::int32_t item : column.values<std::int32_t>())
      digest = (digest ^ static_cast<std::uint64_t>(item)) * 0x9E3779B97F4A7C15U + 1;
  }
  return static_cast<std::int64_t>(digest >> 1);
}

auto packed(const Calls& calls) {
  return range(100'000'000) | map([calls](std::int64_t x) {
           calls->fetch_add(1, std::memory_order_relaxed);
           return document(x);
         }) |
         pack(8, {.length = 64, .window = 64, .columns = {{.name = "tokens"}}}) | map(digest);
}

TEST(Bookmarks, PackGoesOnFromTheLastOne) { EXPECT_LE(calls_of_resume(packed, 50'000), 4 * 1024); }

TEST(Bookmarks, ErrorsDontMakeABatchLookAtAll) {
  const auto make = [](const Calls& calls) {
    return range(10'000'000) | map([calls](std::int64_t x) {
             calls->fetch_add(1, std::memory_order_relaxed);
             if (x == 77) throw Error(ErrorCode::data_loss, "element 77");
             return x;
           }) |
           skip_errors() | batch(16);
  };
  EXPECT_LE(calls_of_resume(make, 50'000), 8 * 1024);
}

struct Number {
  std::int64_t x;
};

TEST(Bookmarks, ErrorsDontMakeAFillLookAtAll) {
  const auto make = [](const Calls& calls) {
    return range(10'000'000) | filter([](std::int64_t x) {
             if (x == 5000) throw Error(ErrorCode::data_loss, "element 5000");
             return true;
           }) |
           batch_into<Number>(16,
                              [calls](std::int64_t x, const Row<Number>& row) {
                                calls->fetch_add(1, std::memory_order_relaxed);
                                if (x == 77) throw Error(ErrorCode::data_loss, "element 77");
                                row.column(&Number::x) = x;
                              },
                              {.parallelism = 2}) |
           map([](const Batch<Number>& batch) { return batch.column(&Number::x)[0]; });
  };
  EXPECT_LE(calls_of_resume(make, 50'000), 200'000U);
}

TEST(Bookmarks, BehindInnerDatasetsMixturesAndGroups) {
  const auto inner = [](std::int64_t x) { return range(x, x + 1 + x % 20); };
  const auto from_inner = [inner](const Calls& calls) {
    return range(10'000'000) | half(calls) | flat_map(inner);
  };
  EXPECT_LE(calls_of_resume(from_inner, 1'000'000), 8 * 1024);
  const auto interleaved = [inner](const Calls& calls) {
    return range(10'000'000) | half(calls) | interleave(inner, {.cycle_length = 16});
  };
  EXPECT_LE(calls_of_resume(interleaved, 1'000'000), 8 * 1024);
  const auto mixed = [](const Calls& calls) {
    return sample_from_datasets({range(10'000'000) | half(calls), range(900'000) | half(calls)},
                                {.weights = {0.3, 0.7}, .seed = 3});
  };
  EXPECT_LE(calls_of_resume(mixed, 300'000), 16 * 1024);
  EXPECT_LE(calls_of_resume(mixed, 900'000), 16 * 1024) << "one of them has ended";
  const auto by_size = [](const Calls& calls) {
    return sample_from_datasets({range(10'000'000) | half(calls), range(900'000) | half(calls)},
                                {.weights = {0.3, 0.7}, .seed = 3},
                                [](std::int64_t x) { return 1 + x % 500; });
  };
  EXPECT_LE(calls_of_resume(by_size, 300'000), 16 * 1024);
  EXPECT_LE(calls_of_resume(by_size, 900'000), 16 * 1024) << "one of them has ended";
  const auto chosen = [](const Calls& calls) {
    const auto some = range(10'000'000) | half(calls);
    return choose_from_datasets({some, range(10)}, range(1'000'000) | map([](std::int64_t x) {
                                                     return std::int64_t{x % 1000 == 7};
                                                   }));
  };
  EXPECT_LE(calls_of_resume(chosen, 300'000), 16 * 1024);
  const auto grouped = [](const Calls& calls) {
    return range(10'000'000) | half(calls) |
           group_by_window([](std::int64_t x) { return x % 7; },
                           [](std::int64_t, std::vector<std::int64_t> window) {
                             return window.front() * 31 + window.back();
                           },
                           5);
  };
  EXPECT_LE(calls_of_resume(grouped, 100'000), 16 * 1024);
  const auto rebatched = [](const Calls& calls) {
    return range(10'000'000) | half(calls) | batch(7) | rebatch(5) | unbatch();
  };
  EXPECT_LE(calls_of_resume(rebatched, 300'000), 16 * 1024);
}

TEST(Bookmarks, AreTheSameWhateverThreadsReadAhead) {
  const auto text = [](std::uint64_t steps, IterateOptions options, std::int64_t depth) {
    auto iterator = (range(1'000'000) | half(no_calls()) | prefetch(depth) | half(no_calls()) |
                     batch(7) | prefetch(depth))
                        .iterate(std::move(options));
    for (std::uint64_t i = 0; i < steps; ++i) iterator.next();
    return iterator.checkpoint().to_text();
  };
  SeededRandom random;
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t steps = random.below(4000);
    const std::string serial = text(steps, {.executor = Executor::inline_()}, 0);
    EXPECT_EQ(text(steps, {}, 1), serial);
    EXPECT_EQ(text(steps, {}, 3000), serial);
    EXPECT_EQ(text(steps, {.threads_max = 3}, 40), serial);
  }
}

TEST(Bookmarks, ManyAreForgotten) {
  auto iterator = (range(50'000'000) | half(no_calls())).iterate({.bookmark_every = 1});
  for (auto elements = iterator.peek(); iterator.position() < 100'000; elements = iterator.peek())
    iterator.take(elements.size());
  const Checkpoint checkpoint = iterator.checkpoint();
  ASSERT_EQ(checkpoint.bookmarks.size(), 1U);
  EXPECT_EQ(checkpoint.bookmarks[0].given, checkpoint.position - 1);
}

TEST(Bookmarks, CheckpointsWithoutThemGoOnAsBefore) {
  auto straight = packed(no_calls()).iterate();
  take_stream(straight, 1000);
  Checkpoint old = straight.checkpoint();
  ASSERT_FALSE(old.bookmarks.empty());
  old.bookmarks.clear();
  EXPECT_THAT(old.to_text(), Not(HasSubstr("bookmark")));
  const Calls calls = no_calls();
  auto resumed = packed(calls).iterate({.resume = old});
  EXPECT_EQ(take_stream(resumed, 100), take_stream(straight, 100));
  EXPECT_GT(*calls, 10'000U);
}

TEST(Bookmarks, StandBehindTheirStage) {
  auto iterator = (range(100'000) | filter([](std::int64_t x) { return x % 2 == 0; })).iterate();
  take_stream(iterator, 2000);
  EXPECT_THAT(iterator.checkpoint().to_text(),
              HasSubstr("stage filter\nbookmark given=1536 pass=0 inputs=3072\nchecksum "));
}

TEST(Bookmarks, DamagedOnesAreRefused) {
  auto before = packed(no_calls()).iterate();
  take_stream(before, 1000);
  const Checkpoint good = before.checkpoint();
  ASSERT_EQ(good.bookmarks.size(), 1U);
  const auto message = [&](auto change) {
    Checkpoint bad = good;
    change(bad.bookmarks[0]);
    return error_of([&] {
             auto iterator = packed(no_calls()).iterate({.resume = bad});
             iterator.next();
           })
        .message();
  };
  const char* const kNever =
      "the checkpoint's bookmark of pack holds numbers that this stage never";
  EXPECT_THAT(message([](Bookmark& b) { b.inputs.clear(); }), HasSubstr(kNever));
  EXPECT_THAT(message([](Bookmark& b) { b.state.clear(); }), HasSubstr(kNever));
  EXPECT_THAT(message([](Bookmark& b) { b.state[3] = 0; }), HasSubstr(kNever));
  EXPECT_THAT(message([](Bookmark& b) { b.state.back() = 65; }), HasSubstr(kNever));
  EXPECT_THAT(message([](Bookmark& b) { b.state.resize(100, 1); }), HasSubstr(kNever));
  Checkpoint of_range = good;
  of_range.bookmarks.push_back({.stage = 0, .given = 1});
  EXPECT_THAT(error_of([&] {
                auto iterator = packed(no_calls()).iterate({.resume = of_range});
                iterator.next();
              }).message(),
              HasSubstr("range, which notes none"));
  for (const char* const line : {"bookmark", "bookmark given=1", "bookmark given=1 pass=0 inputs=",
                                 "bookmark given=x pass=0", "bookmark given=1 pass=0 inputs=1,",
                                 "bookmark given=1 pass=0 inputs=1 more"}) {
    const std::string text = std::string("infeed-checkpoint 1\nstage filter\n") + line + "\n";
    const bool is_bare = std::string_view(line).ends_with("inputs=");
    if (is_bare) continue;  // no inputs, which the stage refuses
    EXPECT_EQ(error_of([&] { Checkpoint::from_text(text); }).code(), ErrorCode::invalid_argument)
        << line;
  }
  EXPECT_THAT(error_of([] {
                Checkpoint::from_text("infeed-checkpoint 1\nbookmark given=1 pass=0\n");
              }).message(),
              HasSubstr("expected the line of its stage before a bookmark"));
}

TEST(Bookmarks, OtherDataIsNoticed) {
  const auto make = [](std::int64_t count) {
    return slices(std::vector<std::int64_t>(static_cast<std::size_t>(count), 3)) |
           filter([](std::int64_t) { return true; });
  };
  auto before = make(5000).iterate();
  take_stream(before, 4500);
  Checkpoint checkpoint = before.checkpoint();
  checkpoint.bookmarks.at(0).inputs[0] = 5001;
  EXPECT_THAT(error_of([&] { make(5000).iterate({.resume = checkpoint}); }).message(),
              HasSubstr("the data has changed since"));
}

TEST(Bookmarks, LeadAnyNumberOfHostsOn) {
  const auto share = [](const Calls& calls, std::uint64_t hosts, std::uint64_t host) {
    return range(10'000'000) | half(calls) | shard({.count = hosts, .index = host}) | batch(16);
  };
  constexpr std::uint64_t kSteps = 5000;
  auto old = share(no_calls(), 4, 1).iterate();
  take_stream(old, kSteps);
  auto all = (range(10'000'000) | half(no_calls())).iterate({.skip = 4 * 16 * kSteps});
  const auto expected = take_stream(all, 96);
  const Checkpoint checkpoint = old.checkpoint();
  ASSERT_EQ(checkpoint.bookmarks.size(), 1U);
  for (std::uint64_t host = 0; host < 3; ++host) {
    const Calls calls = no_calls();
    const auto dataset = share(calls, 3, host);
    auto iterator = dataset.iterate({.resume = reshard_checkpoint(checkpoint, dataset)});
    const auto batch = *iterator.next();
    EXPECT_LE(*calls, 8 * 1024);
    for (std::size_t row = 0; row < batch.size(); ++row)
      EXPECT_EQ(show(batch[row]), expected[host + 3 * row]);
    iterator.next();
    const Checkpoint again = iterator.checkpoint();
    const Calls more = no_calls();
    const auto dataset_again = share(more, 3, host);
    auto resumed = dataset_again.iterate({.resume = again});
    EXPECT_EQ(take_stream(resumed, 2), take_stream(iterator, 2));
    EXPECT_LE(*more, 8 * 1024);
  }
}

}  // namespace
}  // namespace infeed::test
