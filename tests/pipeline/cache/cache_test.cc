#include <thread>

#include <infeed/infeed.h>

#include "engine/iterator_context.h"
#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

template <class Check>
void for_each_copyable(const Check& check) {
  check(std::type_identity<std::int64_t>());
  check(std::type_identity<std::string>());
  check(std::type_identity<Wide>());
  check(std::type_identity<OverAligned>());
}

TEST(Cache, PassesTheSuite) {
  for_each_copyable([]<class T>(std::type_identity<T>) {
    run_stage_suite_on<T>([](auto dataset) { return dataset | cache(); },
                          [](const Slots& in) { return show_all(in); });
  });
}

TEST(Cache, PassesTheSuiteWhenItIsReadAgain) {
  for_each_copyable([]<class T>(std::type_identity<T>) {
    run_stage_suite_on<T>([](auto dataset) { return dataset | cache() | repeat(2); }, show_twice);
  });
}

TEST(Cache, PassesTheSuiteOnceItIsComplete) {
  std::vector<std::int64_t> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  const auto dataset = range(1000) | cache();
  stream_of(dataset);
  run_source_suite([&] { return dataset; }, numbers(values));
}

/// range(count), counting how many elements were made.
auto counted(std::int64_t count, std::atomic<int>& calls) {
  return range(count) | map([&calls](std::int64_t x) {
           ++calls;
           return 2 * x;
         });
}

TEST(Cache, MakesTheElementsOnce) {
  std::atomic<int> calls = 0;
  const auto dataset = counted(1000, calls) | cache();
  const Stream first = stream_of(dataset);
  EXPECT_EQ(stream_of(dataset), first);
  EXPECT_EQ(stream_of(dataset | repeat(3)).size(), 3000);
  EXPECT_EQ(calls, 1000);
}

TEST(Cache, DropsWhatIsIncomplete) {
  std::atomic<int> calls = 0;
  const auto dataset = counted(1000, calls) | cache();
  stream_of(dataset | take(400));
  const int before = calls;
  EXPECT_EQ(stream_of(dataset).size(), 1000);
  EXPECT_EQ(calls, before + 1000);
}

TEST(Cache, IsCompleteWithTheLastElementThatIsKnownToCome) {
  std::atomic<int> calls = 0;
  const auto dataset = counted(100, calls) | cache();
  stream_of(dataset | take(100));
  stream_of(dataset);
  EXPECT_EQ(calls, 100);
}

TEST(Cache, KeepsErrorsInTheirPlaces) {
  std::atomic<int> calls = 0;
  const auto dataset = range(20) | map([&calls](std::int64_t x) {
                         ++calls;
                         if (x % 7 == 3) throw std::runtime_error("no " + std::to_string(x));
                         return x;
                       }) |
                       cache();
  const Stream first = stream_of(dataset);
  EXPECT_EQ(first[3], "! no 3");
  EXPECT_EQ(stream_of(dataset), first);
  for (std::int64_t n = 0; n <= 20; ++n) {
    EXPECT_EQ(stream_of(dataset | skip(n)), Stream(first.begin() + n, first.end()));
  }
  EXPECT_EQ(calls, 20);
}

TEST(Cache, DoesNotDependOnThePassThatFillsIt) {
  const auto make = [] {
    return range(50) | shuffle({.buffer = 50, .seed = 1}) | cache() | repeat(4);
  };
  const Stream all = stream_of(make());
  const Stream pass(all.begin(), all.begin() + 50);
  for (int k = 1; k < 4; ++k) {
    EXPECT_EQ(Stream(all.begin() + 50 * k, all.begin() + 50 * (k + 1)), pass);
  }
  // Resumed in pass 3, the cache is filled there.
  run_source_suite(make, all);
}

TEST(Cache, IteratorsAtOnceReadTheSame) {
  const auto dataset = range(5000) | cache();
  const Stream expected = stream_of(range(5000));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 3; ++k) EXPECT_EQ(stream_of(dataset), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// A trace read what the pulling thread was setting, which ThreadSanitizer reports.
TEST(Cache, IsTracedByAnyThreadWhileItBegins) {
  const auto dataset = range(100) | cache();
  for (const bool is_filled : {false, true}) {
    SCOPED_TRACE(is_filled);
    IteratorContext run{IterateOptions{}};
    const std::unique_ptr<Stage> stage =
        dataset.node()->open(StageContext{.run = run, .counters = nullptr});
    std::atomic<bool> is_over = false;
    std::thread asking([&] {
      while (!is_over) EXPECT_FALSE(stage->trace(0).place);
    });
    Chunk chunk(stage->type());
    std::size_t elements = 0;
    while (stage->pull(chunk, chunk.capacity()) == Pull::values) {
      elements += chunk.size();
      chunk.clear();
    }
    is_over = true;
    asking.join();
    EXPECT_EQ(elements, 100U);
  }
}

TEST(Cache, AResumedPassMakesOnlyWhatIsLeft) {
  std::atomic<int> calls = 0;
  const auto make = [&] { return counted(1000, calls) | cache() | repeat(3); };
  Iterator<std::int64_t> iterator = make().iterate();
  take_stream(iterator, 1900);
  const Checkpoint checkpoint = iterator.checkpoint();
  calls = 0;
  Iterator<std::int64_t> resumed = make().iterate({.resume = checkpoint});
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(take_stream(resumed).size(), 1100);
  EXPECT_EQ(calls, 1100) << "the rest of pass 1, and pass 2 to fill the cache";
}

/// Each flat_map's content stayed for good, however short its life was.
TEST(Cache, KeepsWhatAFlatMapDrewAsLongAsItLives) {
  const auto element = std::make_shared<const int>(7);
  std::atomic<int> calls = 0;
  const auto drawn = range(100) | shuffle({.buffer = 100}) | map([&](std::int64_t) {
                       ++calls;
                       return element;
                     }) |
                     cache();
  const auto outer = [&] { return range(2) | flat_map([drawn](std::int64_t) { return drawn; }); };
  const auto read = [](const auto& dataset) {
    auto iterator = dataset.iterate();
    while (iterator.next()) {
    }
  };
  const long others = element.use_count();
  {
    const auto train = outer();
    const auto test = outer();
    for (int epoch = 0; epoch < 3; ++epoch) {
      read(train);
      read(test);
    }
    EXPECT_EQ(calls, 200) << "each is filled once";
    EXPECT_EQ(element.use_count() - others, 200);
  }
  for (int epoch = 0; epoch < 3; ++epoch) read(outer());
  EXPECT_EQ(calls, 500);
  EXPECT_LE(element.use_count() - others, 100) << "the last one's";
}

/// They replace each other's content.
TEST(Cache, RunsOfAFlatMapWithOtherSeedsReadTheirOwnAtOnce) {
  constexpr std::int64_t kRows = 2000;
  constexpr std::size_t kPart = 900;
  const auto make = [] {
    const auto drawn = range(kRows) | shuffle({.buffer = kRows}) | cache();
    return range(4) | flat_map([drawn](std::int64_t) { return drawn; });
  };
  const auto dataset = make();
  Iterator<std::int64_t> drawn_anew = make().iterate();
  take_stream(drawn_anew, 1);  // a checkpoint has the seeds once an inner stage has drawn
  Checkpoint seeds = drawn_anew.checkpoint();
  seeds.position = 0;
  seeds.bookmarks.clear();
  const Stream own = stream_of(dataset);
  const Stream others = stream_of(dataset, {.resume = seeds});
  ASSERT_NE(own, others);
  Iterator<std::int64_t> first = dataset.iterate();
  Iterator<std::int64_t> second = dataset.iterate({.resume = seeds});
  Stream of_first;
  Stream of_second;
  for (std::size_t taken = 0; taken < own.size(); taken += kPart) {
    for (std::string& element : take_stream(first, kPart)) of_first.push_back(std::move(element));
    for (std::string& element : take_stream(second, kPart)) of_second.push_back(std::move(element));
  }
  EXPECT_EQ(of_first, own);
  EXPECT_EQ(of_second, others);
}

TEST(Cache, KeepsTheContentOfOneCheckpointsSeeds) {
  const auto element = std::make_shared<const int>(7);
  const auto make = [&] {
    return range(100) | shuffle({.buffer = 100}) | map([&](std::int64_t) { return element; }) |
           cache() | repeat(2);
  };
  const auto dataset = make();
  const long others = element.use_count();
  for (int other = 0; other < 3; ++other) {
    const Checkpoint begin = make().iterate().checkpoint();
    auto iterator = dataset.iterate({.resume = begin});
    while (iterator.next()) {
    }
  }
  EXPECT_EQ(element.use_count() - others, 100);
}

TEST(Cache, CountsItsMemory) {
  const auto dataset = range(100'000) | cache();
  {
    Iterator<std::int64_t> iterator = dataset.iterate();
    take_stream(iterator, 99'000);
    EXPECT_GT(iterator.memory().in_use_bytes(), 99'000 * 8);
    EXPECT_LT(iterator.memory().in_use_bytes(), 1'200'000);
    take_stream(iterator);
    EXPECT_EQ(iterator.memory().in_use_bytes(), 0);
  }
  Iterator<std::int64_t> again = dataset.iterate();
  take_stream(again, 1);
  EXPECT_GT(again.memory().in_use_bytes(), 800'000);
}

TEST(Cache, CountsItsErrors) {
  const auto make = [] {
    return listed<std::int64_t>(failing_slots(1000, [](std::size_t) { return true; })) | cache();
  };
  auto iterator = make().iterate();
  take_stream(iterator, 900);
  EXPECT_GT(iterator.memory().in_use_bytes(), 900 * sizeof(Error));
  take_stream(iterator);
  EXPECT_EQ(iterator.memory().in_use_bytes(), 0);
  EXPECT_THAT(stream_of(make(), {.memory_bytes_max = 64 << 10}).back(),
              StartsWith("!! the elements can't be kept in memory: cache needs"));
}

TEST(Cache, RefusesBeforeTheStartWhatCannotFit) {
  const auto dataset = range(100'000) | cache();
  const Error error = error_of([&] { dataset.iterate({.memory_bytes_max = 1000}); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(error.message(), HasSubstr("cache 800000 bytes"));
}

TEST(Cache, WithoutMemoryItSaysSoForGood) {
  const auto text = [](std::int64_t x) { return std::string(1000, '0') + std::to_string(x); };
  const auto dataset = range(2000) | filter([](std::int64_t) { return true; }) | map(text) |
                       cache() | skip_errors() | repeat(2);
  Iterator<std::string> iterator = dataset.iterate({.memory_bytes_max = 1 << 20});
  const Stream first = take_stream(iterator);
  const std::size_t elements = elements_of(first);
  ASSERT_EQ(first.size(), elements + 1);
  EXPECT_GT(elements, 400);
  EXPECT_THAT(first.back(), StartsWith("!! the elements can't be kept in memory: cache needs"));
  EXPECT_THAT(first.back(), HasSubstr("infeed::cache({.path = ...})"));
  EXPECT_LE(iterator.memory().peak_bytes(), 1 << 20);
  EXPECT_EQ(take_stream(iterator), Stream{first.back()}) << "at every later call";
  // With room the rest follows, and nothing twice.
  const Stream all = stream_of(dataset);
  EXPECT_EQ(Stream(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(elements)),
            Stream(first.begin(), first.end() - 1));
  EXPECT_EQ(stream_of(dataset, {.resume = iterator.checkpoint()}),
            Stream(all.begin() + static_cast<std::ptrdiff_t>(elements), all.end()));
}

TEST(Cache, ACompleteOneThatDoesNotFitIsRefused) {
  const auto dataset =
      range(2000) | map([](std::int64_t) { return std::string(1000, 'x'); }) | cache();
  for (const std::string& text : dataset.iterate()) EXPECT_EQ(text.size(), 1000);
  Iterator<std::string> iterator = dataset.iterate({.memory_bytes_max = 1 << 20});
  EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::resource_exhausted);
  EXPECT_TRUE(error_of([&] { iterator.next(); }).is_terminal());
}

TEST(Cache, AFailureBehindHandedOverElementsStopsASkipToo) {
  const auto text = [](std::int64_t) { return std::string(10'000, '0'); };
  const auto dataset = range(50) | filter([](std::int64_t) { return true; }) | map(text) | cache() |
                       shard({.count = 65, .index = 0});
  Iterator<std::string> iterator = dataset.iterate({.memory_bytes_max = 64 * 1024});
  EXPECT_EQ(elements_of(take_stream(iterator)), 1);
  EXPECT_TRUE(error_of([&] { iterator.next(); }).is_terminal());
}

TEST(Cache, KeepsBatches) {
  const auto dataset = range(10) | batch(4) | cache() | prefetch() | repeat(2);
  EXPECT_EQ(stream_of(dataset),
            (Stream{"[0 1 2 3]", "[4 5 6 7]", "[8 9]", "[0 1 2 3]", "[4 5 6 7]", "[8 9]"}));
}

}  // namespace
}  // namespace infeed::test
