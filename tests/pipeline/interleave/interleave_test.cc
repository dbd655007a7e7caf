#include <infeed/infeed.h>

#include "pipeline/suite/consumer.h"
#include "pipeline/suite/inner_sources.h"
#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// TensorFlow's loop, an element at a time.
Stream interleave_model(const Slots& in, std::size_t cycle_length, std::size_t block_length) {
  // Slots that no outer element ever reaches make no difference.
  cycle_length = std::min(cycle_length, in.size() + 1);
  struct Open {
    Stream stream;
    std::size_t next = 0;
  };
  std::vector<std::optional<Open>> slots(cycle_length);
  Stream out;
  std::size_t at = 0;
  std::size_t in_block = 0;
  std::size_t next_outer = 0;
  const auto advance = [&] {
    in_block = 0;
    at = (at + 1) % cycle_length;
  };
  const auto any_open = [&] {
    return std::any_of(slots.begin(), slots.end(),
                       [](const auto& slot) { return slot.has_value(); });
  };
  while (next_outer < in.size() || any_open()) {
    std::optional<Open>& slot = slots[at];
    if (!slot) {
      if (next_outer == in.size()) {
        advance();
        continue;
      }
      bool opened = false;
      Stream stream = stream_of_inner(in[next_outer++], opened);
      if (opened) {
        slot = Open{std::move(stream)};
      } else {
        out.push_back(stream.front());
      }
    } else if (slot->next == slot->stream.size()) {
      slot.reset();
      advance();
    } else {
      out.push_back(slot->stream[slot->next++]);
      if (++in_block == block_length) advance();
    }
  }
  return out;
}

struct Shape {
  std::int64_t cycle_length;
  std::int64_t block_length;
  int parallelism;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << "cycle " << shape.cycle_length << ", block " << shape.block_length << ", parallelism "
       << shape.parallelism;
}

class InterleaveShapes : public ::testing::TestWithParam<Shape> {
 protected:
  static auto build(const InterleaveOptions& options) {
    return [options](auto dataset) {
      using T = typename decltype(dataset)::element_type;
      return dataset |
             interleave([](const T& outer) { return make_inner<T>(value_of(outer)); }, options);
    };
  }
  static auto model() {
    return [](const Slots& in) {
      return interleave_model(in, static_cast<std::size_t>(GetParam().cycle_length),
                              static_cast<std::size_t>(GetParam().block_length));
    };
  }
  static InterleaveOptions options() {
    return {.cycle_length = GetParam().cycle_length,
            .block_length = GetParam().block_length,
            .parallelism = GetParam().parallelism};
  }
};
INSTANTIATE_TEST_SUITE_P(Serial, InterleaveShapes,
                         ::testing::Values(Shape{1, 1, 1}, Shape{2, 1, 1}, Shape{3, 2, 1},
                                           Shape{5, 3, 1}, Shape{16, 1, 1}, Shape{2, 1000, 1},
                                           Shape{1'000'000'000'000, 1, 1}));
INSTANTIATE_TEST_SUITE_P(Parallel, InterleaveShapes,
                         ::testing::Values(Shape{1, 1, autotune}, Shape{2, 1, 2}, Shape{3, 2, 2},
                                           Shape{5, 3, 4}, Shape{16, 1, 8}, Shape{2, 1000, 2},
                                           Shape{1'000'000'000'000, 1, autotune}));

TEST_P(InterleaveShapes, PassesTheSuite) {
  run_stage_suite_on<std::int64_t>(build(options()), model(), {.sizes = {0, 1, 2, 5, 33}});
}

TEST_P(InterleaveShapes, UnorderedGivesTheSameElements) {
  if (GetParam().parallelism == 1) return;
  InterleaveOptions unordered = options();
  unordered.ordered = false;
  run_stage_suite_on<std::int64_t>(build(unordered), model(),
                                   {.ordered = false, .sizes = {0, 1, 2, 5, 33}});
}

TEST_P(InterleaveShapes, CarriesEveryKindOfElement) {
  if (GetParam().cycle_length != 3) return;
  run_stage_suite(build(options()), model(), {.sizes = {0, 5, 33}});
}

TEST_P(InterleaveShapes, GoesOnUnderATinyMemoryLimit) {
  if (GetParam().parallelism == 1) return;
  run_stage_suite_on<std::string>(build(options()), model(),
                                  {.sizes = {33}, .memory_bytes_max = 300});
}

TEST(Interleave, GivesTheOrderOfTensorFlowsDocumentation) {
  const auto all =
      range(1, 6) |
      interleave([](std::int64_t x) { return range(6) | map([x](std::int64_t) { return x; }); },
                 {.cycle_length = 2, .block_length = 4});
  run_source_suite([&] { return all; }, numbers({1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3,
                                                 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5}));
}

TEST(Interleave, AnInnerStagesOwnFailureIsTerminal) {
  const auto inner = [](std::int64_t n) {
    return n == 2 ? breaking(range(20, 22)) : range(10 * n, 10 * n + 4);
  };
  const Stream expected{"0", "10", "20", "1", "11", "21", "2", "12", "!! the stage broke"};
  for (const int parallelism : {1, 2}) {
    const InterleaveOptions options{.cycle_length = 3, .parallelism = parallelism};
    run_source_suite([&] { return range(9) | interleave(inner, options); }, expected);
    run_source_suite(
        [&] { return range(9) | interleave(inner, options) | skip_errors() | prefetch(); },
        expected);
  }
}

TEST(Interleave, ACacheInsideHoldsTheSameWhoeverFillsIt) {
  const auto words = range(10) | shuffle({.buffer = 10}) | cache();
  const auto all = range(4) | interleave([words](std::int64_t) { return words; },
                                         {.cycle_length = 2, .parallelism = 2});
  const Stream stream = stream_of(all);
  ASSERT_EQ(stream.size(), 40);
  for (std::size_t i = 0; i < 20; i += 2) {
    EXPECT_EQ(stream[i], stream[i + 1]);
    EXPECT_EQ(stream[i], stream[20 + i]);
  }
}

TEST(Interleave, OpensTheNextWhenTheSlotIsVisitedAgain) {
  const auto times = [](std::int64_t x) { return range(3) | map([x](std::int64_t) { return x; }); };
  const auto all = range(1, 4) | interleave(times, {.cycle_length = 2});
  run_source_suite([&] { return all; }, numbers({1, 2, 1, 2, 1, 2, 3, 3, 3}));
}

TEST(Interleave, PassesOverWholeRoundsWithoutReading) {
  for (const int parallelism : {1, 4}) {
    const auto calls = std::make_shared<std::atomic<int>>(0);
    const auto inner = [calls](std::int64_t n) {
      return range(1'000'000 + n) | map([calls, n](std::int64_t i) {
               ++*calls;
               return n * 10'000'000 + i;
             });
    };
    const auto all =
        range(40) |
        interleave(inner, {.cycle_length = 8, .block_length = 3, .parallelism = parallelism});
    Checkpoint checkpoint = all.iterate().checkpoint();
    checkpoint.position = 100'000 * 24 + 9;  // whole rounds, and three blocks
    auto iterator = all.iterate({.resume = checkpoint});
    EXPECT_EQ(iterator.next(), 3 * 10'000'000 + 300'000);
    if (parallelism == 1) {
      EXPECT_LE(*calls, static_cast<int>(kChunkElementsMax))
          << "functions were called for what is skipped";
    }
  }
}

TEST(Interleave, SkipsTheSameWithAndWithoutErrorsSeen) {
  const auto all =
      range(30) | interleave([](std::int64_t n) { return range(100 * n, 100 * n + n); },
                             {.cycle_length = 4, .block_length = 3});
  const Stream expected = stream_of(all);
  for (std::size_t position = 0; position <= expected.size(); ++position) {
    for (const std::uint64_t errors : {0, 1}) {
      Checkpoint checkpoint = all.iterate().checkpoint();
      checkpoint.position = position;
      checkpoint.errors = errors;
      const auto from = expected.begin() + static_cast<std::ptrdiff_t>(position);
      ASSERT_EQ(stream_of(all, {.resume = checkpoint}), Stream(from, expected.end())) << position;
    }
  }
}

TEST(Interleave, OpensFutureInnerDatasetsAhead) {
  // The consumer reads only the first inner dataset; the next ones are opened all the same.
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t opened = 0;
  const auto all =
      counter() | interleave(
                      [&](std::int64_t) {
                        const std::lock_guard lock(mutex);
                        ++opened;
                        changed.notify_all();
                        return counter();
                      },
                      {.cycle_length = 2, .block_length = 1'000'000, .parallelism = 2});
  auto iterator = all.iterate();
  ASSERT_TRUE(iterator.next());
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return opened >= 4; }));
}

TEST(Interleave, ASlowInnerDatasetDoesNotStopTheOthersWhenUnordered) {
  Gate gate;
  const auto all =
      range(4) | interleave(
                     [&](std::int64_t n) {
                       return n == 1 ? gated<std::int64_t>(plain_slots(3), gate) : range(100);
                     },
                     {.cycle_length = 4, .parallelism = 2, .ordered = false});
  Consumer consumer(all.iterate(), &gate);
  EXPECT_TRUE(consumer.wait_for(300));
  gate.release(3);
  EXPECT_TRUE(consumer.wait_for(303));
  consumer.join();
}

TEST(Interleave, OpensStagesWithThreadsOfTheirOwn) {
  const auto all =
      range(20) | interleave(
                      [](std::int64_t n) {
                        return range(10 * n, 10 * n + n % 10) | prefetch(2) |
                               map([](std::int64_t x) { return x; }, {.parallelism = 2});
                      },
                      {.cycle_length = 4, .parallelism = 3});
  const Stream expected = stream_of(all, {.executor = Executor::inline_()});
  const Executors executors;
  for (const NamedExecutor& executor : executors.all()) {
    EXPECT_EQ(stream_of(all, {.executor = executor.executor}), expected) << executor.name;
  }
}

TEST(Interleave, MayBeGivenUpInsideAnother) {
  // Each inner iteration is dropped with its threads in the middle of work.
  const auto inner = [](std::int64_t n) {
    return counter(n) |
           interleave([](std::int64_t x) { return counter(x); },
                      {.cycle_length = 3, .parallelism = 2}) |
           take(n);
  };
  const auto all = range(20) | interleave(inner, {.cycle_length = 4, .parallelism = 2}) | repeat(2);
  EXPECT_EQ(stream_of(all), stream_of(all, {.executor = Executor::inline_()}));
}

TEST(Interleave, RefusesWhatCannotBe) {
  const auto with = [](InterleaveOptions options) {
    return error_of(
               [&] { range(3) | interleave([](std::int64_t n) { return range(n); }, options); })
        .message();
  };
  EXPECT_EQ(with({.cycle_length = 0}),
            "interleave: cycle_length is 0 and block_length 1; give at least 1");
  EXPECT_EQ(with({.block_length = -1}),
            "interleave: cycle_length is 16 and block_length -1; give at least 1");
  EXPECT_EQ(with({.parallelism = 0}),
            "interleave: parallelism is 0; give 1 or more, or infeed::autotune");
  EXPECT_EQ(with({.cycle_length = 4, .parallelism = 8}),
            "interleave: parallelism 8 is more than cycle_length 4, and threads beyond the cycle "
            "would have little to read; raise cycle_length (it changes the order) or lower "
            "parallelism");
}

TEST(Interleave, SurvivesCancellationAtAnyMoment) {
  SeededRandom random;
  for (int i = 0; i < 200; ++i) {
    const auto all =
        counter() | interleave([](std::int64_t n) { return range(n % 50) | prefetch(); },
                               {.cycle_length = 5, .parallelism = 3, .ordered = i % 2 == 0});
    Consumer consumer(all.iterate());
    consumer.wait_for(random.below(300));
    consumer.cancel();
    consumer.join();
    EXPECT_TRUE(consumer.was_cancelled());
  }
}

// A stop looked at the inner datasets while the consumer handed them to the threads;
// ThreadSanitizer and AddressSanitizer see it.
TEST(Interleave, SurvivesCancellationWhileItBeginsBehindAResume) {
  const auto all = range(1'000) | interleave([](std::int64_t) { return range(50); },
                                             {.cycle_length = 200, .parallelism = 3});
  auto before = all.iterate();
  for (int i = 0; i < 700; ++i) before.next();
  const Checkpoint saved = before.checkpoint();
  for (int i = 0; i < 50; ++i) {
    Consumer consumer(all.iterate({.resume = saved}));
    consumer.cancel();
    consumer.join();
  }
}

}  // namespace
}  // namespace infeed::test
