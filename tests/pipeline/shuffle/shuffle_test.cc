#include "shuffle/shuffle.h"

#include <algorithm>
#include <set>

#include <infeed/infeed.h>

#include "pipeline/shuffle/shuffle_reference.h"
#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

/// `options` must have seed set and global_seed not.
Stream shuffled(const Slots& in, const ShuffleOptions& options, std::uint64_t epoch = 0) {
  const Philox generator = reference_generator(kDefaultGlobalSeed, *options.seed, epoch,
                                               options.reshuffle_each_iteration);
  return reference_shuffle(show_all(in), options.buffer, generator);
}

TEST(Shuffle, PassesTheSuite) {
  for (const std::uint64_t buffer : {1, 2, 7, 64, 1000}) {
    for (const bool reshuffle : {true, false}) {
      SCOPED_TRACE(buffer);
      const ShuffleOptions options{
          .buffer = buffer, .seed = 42 + buffer, .reshuffle_each_iteration = reshuffle};
      const auto build = [options](auto dataset) { return dataset | shuffle(options); };
      const auto model = [options](const Slots& in) { return shuffled(in, options); };
      // The kind of the elements and the choice of the order have nothing to do with each other.
      if (reshuffle) {
        run_stage_suite(build, model, {.lookahead = buffer});
      } else {
        run_stage_suite_on<std::int64_t>(build, model, {.lookahead = buffer});
      }
    }
  }
}

TEST(Shuffle, BeforeRepeatPassesTheSuite) {
  const ShuffleOptions options{.buffer = 5, .seed = 3};
  run_stage_suite_on<std::int64_t>(
      [options](auto dataset) { return dataset | shuffle(options) | repeat(3); },
      [options](const Slots& in) {
        Stream all;
        for (const std::uint64_t pass : {0, 1, 2}) {
          for (std::string& element : shuffled(in, options, pass))
            all.push_back(std::move(element));
        }
        return all;
      },
      {.lookahead = 5});
}

TEST(Shuffle, BehindPrefetchAndParallelMapPassesTheSuite) {
  const ShuffleOptions options{.buffer = 20, .seed = 3};
  run_stage_suite_on<std::int64_t>(
      [options](auto dataset) {
        return dataset | map([](std::int64_t x) { return x; }, {.parallelism = 2}) | prefetch(1) |
               shuffle(options) | prefetch(2);
      },
      [options](const Slots& in) { return shuffled(in, options); }, {.lookahead = 20});
}

// --- TensorFlow's own test vectors
// -----------------------------------------------------------------

std::vector<std::int64_t> order(const Dataset<std::int64_t>& dataset) {
  std::vector<std::int64_t> elements;
  for (const std::int64_t element : dataset.iterate()) elements.push_back(element);
  return elements;
}

/// range(10) with the kernel's (seed, seed2).
Dataset<std::int64_t> ten(std::uint64_t seed, std::uint64_t seed2, std::uint64_t buffer,
                          bool reshuffle) {
  return range(10) | shuffle({.buffer = buffer,
                              .seed = seed2,
                              .global_seed = seed,
                              .reshuffle_each_iteration = reshuffle});
}

using Order = std::vector<std::int64_t>;

TEST(Shuffle, EqualsTensorFlowBitForBit) {
  EXPECT_EQ(order(ten(1, 2, 3, false)), (Order{2, 3, 0, 5, 6, 4, 7, 8, 9, 1}));
  const auto reshuffled = ten(1, 2, 10, true);
  EXPECT_EQ(order(reshuffled), (Order{2, 6, 1, 3, 9, 5, 0, 8, 7, 4}));
  EXPECT_EQ(order(reshuffled), (Order{1, 6, 0, 5, 2, 7, 4, 3, 9, 8}));
  const auto small = ten(1, 2, 2, true);
  EXPECT_EQ(order(small), (Order{0, 2, 1, 3, 5, 6, 4, 7, 8, 9}));
  EXPECT_EQ(order(small), (Order{1, 0, 2, 3, 4, 5, 6, 7, 9, 8}));
  const auto other = ten(2, 2, 10, true);
  EXPECT_EQ(order(other), (Order{3, 0, 8, 1, 5, 4, 7, 2, 6, 9}));
  EXPECT_EQ(order(other), (Order{4, 6, 9, 0, 1, 8, 2, 7, 3, 5}));
  EXPECT_EQ(order(ten(1, 2, 10, false) | repeat(2)),
            (Order{9, 0, 8, 6, 1, 3, 7, 2, 4, 5, 9, 0, 8, 6, 1, 3, 7, 2, 4, 5}));
}

TEST(Shuffle, AfterRepeatEqualsTensorFlow) {
  const auto twice = range(10) | repeat(2);
  EXPECT_EQ(order(twice | shuffle({.buffer = 4, .seed = 42})),
            (Order{1, 4, 2, 3, 5, 0, 6, 9, 8, 2, 0, 3, 1, 4, 5, 7, 9, 6, 7, 8}));
  EXPECT_EQ(order(twice | shuffle({.buffer = 4, .seed = 42, .global_seed = 42})),
            (Order{3, 0, 1, 6, 2, 5, 7, 8, 4, 1, 9, 4, 2, 3, 7, 5, 0, 8, 9, 6}));
}

// The split that shuffle.h shows, and the mistake that it warns of.
TEST(Shuffle, ASplitOfOneOrderStaysASplit) {
  const auto shared_in_pass = [](bool reshuffle, std::uint64_t epoch) {
    const auto samples =
        range(100) |
        shuffle({.buffer = whole_input, .seed = 1, .reshuffle_each_iteration = reshuffle});
    const auto elements = [&](const Dataset<std::int64_t>& part, std::uint64_t pass) {
      std::set<std::int64_t> set;
      for (const std::int64_t element : part.iterate({.epoch = pass})) set.insert(element);
      return set;
    };
    const std::set<std::int64_t> validation = elements(samples | take(20), 0);
    const std::set<std::int64_t> training = elements(samples | skip(20), epoch);
    EXPECT_EQ(validation.size() + training.size(), 100U);
    return std::count_if(validation.begin(), validation.end(),
                         [&](std::int64_t element) { return training.contains(element); });
  };
  for (const std::uint64_t epoch : {0, 1, 2}) EXPECT_EQ(shared_in_pass(false, epoch), 0);
  EXPECT_EQ(shared_in_pass(true, 0), 0);
  EXPECT_GT(shared_in_pass(true, 1), 0);
}

TEST(Shuffle, SeedsAreCombinedAsInTensorFlow) {
  constexpr std::uint64_t kModulus = (std::uint64_t{1} << 31) - 1;
  // Both of them 0: (0, 2^31-1).
  EXPECT_EQ(order(ten(0, 0, 10, true)), order(ten(kModulus, kModulus, 10, true)));
  const auto zero = reference_shuffle(Order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 10,
                                      reference_generator(0, kModulus, 0, true));
  EXPECT_EQ(order(ten(0, 0, 10, true)), zero);
  EXPECT_EQ(order(ten(5, 7, 10, true)), order(ten(5 + kModulus, 7 + kModulus, 10, true)));
}

TEST(Shuffle, WithoutSeedsIsRandomOnceAndPartOfTheCheckpoint) {
  const auto one = range(100) | shuffle({.buffer = 100});
  const auto other = range(100) | shuffle({.buffer = 100});
  EXPECT_NE(order(one), order(other));
  EXPECT_EQ(stream_of(one, {.epoch = 3}), stream_of(one, {.epoch = 3}));
  EXPECT_NE(stream_of(one, {.epoch = 3}), stream_of(one, {.epoch = 4}));
  // Another process has drawn other seeds and goes on with these.
  const Checkpoint checkpoint = one.iterate({.epoch = 3}).checkpoint();
  EXPECT_EQ(stream_of(other, {.resume = checkpoint}), stream_of(one, {.epoch = 3}));
}

// --- A buffer as large as the input
// ---------------------------------------------------------------

TEST(Shuffle, OfTheWholeInputPassesTheSuite) {
  run_stage_suite(
      [](auto dataset) { return dataset | shuffle({.buffer = whole_input, .seed = 42}); },
      [](const Slots& in) { return shuffled(in, {.buffer = 1'000'000, .seed = 42}); },
      {.hands_over_early = false, .lookahead = 1'000'000});
}

TEST(Shuffle, OfTheWholeInputIsTheOrderOfABufferAtLeastAsLarge) {
  for (const std::uint64_t buffer : {1000, 1001, 5000}) {
    EXPECT_EQ(order(range(1000) | shuffle({.buffer = whole_input, .seed = 5})),
              order(range(1000) | shuffle({.buffer = buffer, .seed = 5})));
  }
  // Also without a known length, and after a resume.
  const auto odd = range(5000) | filter([](std::int64_t x) { return x % 2 == 1; }) |
                   shuffle({.buffer = whole_input, .seed = 5});
  const Stream all = stream_of(odd, {.epoch = 0});
  EXPECT_EQ(all.size(), 2500);
  auto iterator = odd.iterate({.epoch = 0});
  take_stream(iterator, 777);
  EXPECT_EQ(stream_of(odd, {.resume = iterator.checkpoint()}),
            Stream(all.begin() + 777, all.end()));
}

TEST(Shuffle, OfTheWholeInputRefusesOneThatNeverEnds) {
  const Error error = error_of([] { range(3) | repeat() | shuffle({.buffer = whole_input}); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(),
            "shuffle: buffer is whole_input, but the input never ends; put shuffle before repeat, "
            "or give a number");
}

// --- Random shuffles and places
// ------------------------------------------------------------------------

TEST(Shuffle, EqualsTheSlowModelForRandomSizesAndErrors) {
  SeededRandom random;
  const Executors executors;
  for (int round = 0; round < 400; ++round) {
    const std::size_t size = random.below(random.chance(0.2) ? 3000 : 60);
    const double errors = random.chance(0.3) ? 0.1 : 0;
    const Slots slots = failing_slots(size, [&](std::size_t) { return random.chance(errors); });
    const ShuffleOptions options{.buffer = 1 + random.below(random.chance(0.5) ? 10 : 2 * size + 1),
                                 .seed = random.below(1000),
                                 .reshuffle_each_iteration = random.chance(0.7)};
    const std::uint64_t epoch = random.below(4);
    const Stream expected = shuffled(slots, options, epoch);
    SCOPED_TRACE(fmt::format("{} elements, buffer {}, seed {}, epoch {}", size, options.buffer,
                             *options.seed, epoch));
    const auto dataset =
        listed<std::int64_t>(slots, {Cut::Kind::random, random()}) | shuffle(options);
    auto iterator = dataset.iterate({.executor = executors.any(random).executor, .epoch = epoch});
    const std::size_t place = random.below(size + 1);
    Stream got = take_stream(iterator, place);
    const Checkpoint checkpoint = iterator.checkpoint();
    auto resumed = dataset.iterate({.resume = checkpoint});
    for (std::string& element : take_stream(resumed)) got.push_back(std::move(element));
    ASSERT_EQ(got, expected);
  }
}

TEST(Shuffle, ResumesFarInALongStream) {
  constexpr std::int64_t kSize = 300'000;
  SeededRandom random;
  for (const std::uint64_t buffer : {1, 100, 10'000, 400'000}) {
    const auto dataset = range(kSize) | shuffle({.buffer = buffer, .seed = 1});
    const Order whole = order(range(kSize) | shuffle({.buffer = buffer, .seed = 1}));
    ASSERT_EQ(whole.size(), kSize);
    for (int round = 0; round < 6; ++round) {
      Checkpoint checkpoint = dataset.iterate({.epoch = 0}).checkpoint();
      checkpoint.position = random.below(kSize);
      auto resumed = dataset.iterate({.resume = checkpoint});
      for (std::uint64_t at = checkpoint.position;
           at < std::min<std::uint64_t>(checkpoint.position + 300, kSize); ++at) {
        ASSERT_EQ(resumed.next(), whole[at]) << "buffer " << buffer << ", element " << at;
      }
    }
  }
}

TEST(Shuffle, ResumesExactlyBehindAStageOfUnknownLength) {
  const auto make = [] {
    return range(500) | filter([](std::int64_t x) { return x % 3 == 0; }) |
           shuffle({.buffer = 50, .seed = 8});
  };
  const Stream whole = stream_of(make());
  for (std::size_t place = 0; place <= whole.size(); place += 13) {
    auto iterator = make().iterate();
    take_stream(iterator, place);
    auto resumed = make().iterate({.resume = iterator.checkpoint()});
    ASSERT_EQ(take_stream(resumed),
              Stream(whole.begin() + static_cast<std::ptrdiff_t>(place), whole.end()));
  }
}

TEST(Shuffle, ResumesBeforeAnErrorThatLengthensTheStream) {
  // Three full batches and, behind them, the error of the remainder: the declared length is 3.
  const auto make = [] {
    return failing_range(10, 9) | recut(1) | batch(3, {.drop_remainder = true}) | recut(2) |
           shuffle({.buffer = 2, .seed = 8});
  };
  const Stream whole = stream_of(make());
  ASSERT_EQ(whole.size(), 4);
  for (std::size_t place = 0; place <= whole.size(); ++place) {
    auto iterator = make().iterate();
    take_stream(iterator, place);
    // Whether the first run had already seen the error is chance; both must work.
    for (const std::uint64_t errors : {iterator.checkpoint().errors, std::uint64_t{1}}) {
      Checkpoint checkpoint = iterator.checkpoint();
      checkpoint.errors = errors;
      auto resumed = make().iterate({.resume = checkpoint});
      ASSERT_EQ(take_stream(resumed),
                Stream(whole.begin() + static_cast<std::ptrdiff_t>(place), whole.end()));
    }
  }
}

TEST(Shuffle, BufferContentIsWhatAWalkForwardsFinds) {
  SeededRandom random;
  for (int round = 0; round < 3000; ++round) {
    const std::uint64_t size = 1 + random.below(80);
    const std::uint64_t buffer = 1 + random.below(90);
    const std::uint64_t handed_out = 1 + random.below(size);
    const Philox generator(random(), random());
    // Forwards: which input position lies in which slot.
    std::vector<std::uint64_t> slots(buffer, size);
    std::uint64_t end = 0;
    Philox words = generator;
    for (std::uint64_t t = 0; t < handed_out; ++t) {
      while (end < size && end < t + buffer) {
        slots[end % buffer] = end;
        ++end;
      }
      const std::uint64_t i = (t + words() % (end - t)) % buffer;
      std::swap(slots[i], slots[t % buffer]);
    }
    std::vector<detail::Buffered> expected;
    for (std::uint64_t p = handed_out; p < end; ++p) {
      expected.push_back({slots[p % buffer], p % buffer});
    }
    std::sort(expected.begin(), expected.end(),
              [](const auto& a, const auto& b) { return a.position < b.position; });
    detail::BufferContent found(generator, buffer, size, handed_out);
    for (std::size_t k = 0; k < expected.size(); ++k, found.pop()) {
      ASSERT_FALSE(found.empty());
      ASSERT_EQ(found.front().position, expected[k].position);
      ASSERT_EQ(found.front().slot, expected[k].slot);
      const std::size_t run = found.run_length(1 + random.below(10));
      ASSERT_GE(run, 1);
      ASSERT_LE(k + run, expected.size());
      ASSERT_EQ(expected[k + run - 1].position, expected[k].position + run - 1);
    }
    ASSERT_TRUE(found.empty());
  }
}

TEST(Shuffle, RefusesABufferOfNothing) {
  const Error error = error_of([] { range(3) | shuffle({.buffer = 0}); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(
      error.message(),
      "shuffle: buffer is 0; give at least 1 (no shuffling), or the size of the dataset for a "
      "full shuffle");
}

}  // namespace
}  // namespace infeed::test
