#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

std::int64_t twice(std::int64_t x) {
  if (x % 7 == 3) throw std::runtime_error("map refuses " + std::to_string(x));
  return 2 * x;
}

/// The same for an element of any kind.
constexpr auto kTwice = []<class T>(T element) {
  return make_element<T>(twice(value_of(element)));
};

Stream mapped(const Slots& in) {
  Stream stream;
  for (const Slot& slot : in) {
    try {
      stream.push_back(slot.fails ? show(slot) : std::to_string(twice(slot.value)));
    } catch (const std::exception& exception) {
      stream.push_back(std::string("! ") + exception.what());
    }
  }
  return stream;
}

TEST(Map, PassesTheSuite) {
  run_stage_suite([](auto dataset) { return dataset | map(kTwice); }, mapped);
}

TEST(Map, InParallelPassesTheSuite) {
  for (const int parallelism : {2, 5, autotune}) {
    SCOPED_TRACE(parallelism);
    run_stage_suite(
        [parallelism](auto dataset) { return dataset | map(kTwice, {.parallelism = parallelism}); },
        mapped);
  }
}

TEST(Map, UnorderedPassesTheSuite) {
  run_stage_suite(
      [](auto dataset) { return dataset | map(kTwice, {.parallelism = 3, .ordered = false}); },
      mapped, {.ordered = false});
}

TEST(Map, ChangesTheType) {
  EXPECT_EQ(stream_of(range(3) | map([](std::int64_t x) { return std::to_string(x); })),
            numbers({0, 1, 2}));
  EXPECT_EQ(
      stream_of(range(3) | map([](std::int64_t x) { return std::pair(x, make_element<Wide>(x)); })),
      Stream({"(0, 0)", "(1, 1)", "(2, 2)"}));
}

TEST(Map, TakesElementsByValueReferenceAndConstReference) {
  const auto strings =
      range(2) | map([](std::int64_t x) { return std::string(40, char('a' + x)); });
  const auto length = [](const std::string& text) {
    return static_cast<std::int64_t>(text.size());
  };
  EXPECT_EQ(stream_of(strings | map(length)), numbers({40, 40}));
  EXPECT_EQ(stream_of(strings | map([&](std::string text) { return length(text); })),
            numbers({40, 40}));
  EXPECT_EQ(stream_of(strings | map([&](std::string&& text) { return length(text); })),
            numbers({40, 40}));
}

// --- A function that asks for randomness ---------------------------------------------------------

/// Five numbers of each kind an element.
std::int64_t draw(std::int64_t x, Rng& rng) {
  std::int64_t digest = x;
  for (int i = 0; i < 5; ++i) {
    digest =
        digest * 31 + rng() % 1000 + rng.below(7) + static_cast<std::int64_t>(rng.uniform() * 100);
  }
  return digest;
}

Stream drawn(const Slots& in, std::uint64_t seed, std::uint64_t epoch) {
  Stream stream;
  for (std::uint64_t position = 0; position < in.size(); ++position) {
    const Slot& slot = in[position];
    Rng rng(seed, epoch, position);
    stream.push_back(slot.fails ? show(slot) : std::to_string(draw(slot.value, rng)));
  }
  return stream;
}

TEST(Map, TakesPointersToMembers) {
  struct Sample {
    std::int64_t label;
    bool is_odd() const { return label % 2 == 1; }
  };
  const auto samples = range(5) | map([](std::int64_t x) { return Sample{x}; });
  EXPECT_EQ(stream_of(samples | filter(&Sample::is_odd) | map(&Sample::label)), numbers({1, 3}));
}

TEST(Map, RandomnessIsKeyedBySeedEpochAndPosition) {
  for (const int parallelism : {1, 3}) {
    for (const bool ordered : {true, false}) {
      SCOPED_TRACE(parallelism);
      run_stage_suite_on<std::int64_t>(
          [=](auto dataset) {
            return dataset | map(draw, {.parallelism = parallelism, .ordered = ordered, .seed = 9});
          },
          [](const Slots& in) { return drawn(in, 9, 0); }, {.ordered = ordered});
    }
  }
}

TEST(Map, RandomnessDiffersFromPassToPass) {
  const auto dataset = range(100) | map(draw, {.parallelism = 2, .seed = 9});
  Stream expected = drawn(plain_slots(100), 9, 0);
  for (std::string& element : drawn(plain_slots(100), 9, 1)) expected.push_back(std::move(element));
  EXPECT_EQ(stream_of(dataset | repeat(2)), expected);
  EXPECT_EQ(stream_of(dataset), drawn(plain_slots(100), 9, 0));
  EXPECT_EQ(stream_of(dataset), drawn(plain_slots(100), 9, 1));
  EXPECT_NE(drawn(plain_slots(100), 9, 0), drawn(plain_slots(100), 9, 1));
  EXPECT_NE(drawn(plain_slots(100), 9, 0), drawn(plain_slots(100), 10, 0));
}

TEST(Map, ARandomSeedIsDrawnOnceAndPartOfTheCheckpoint) {
  const auto dataset = range(10) | map(draw);
  EXPECT_EQ(stream_of(dataset, {.epoch = 0}), stream_of(dataset, {.epoch = 0}));
  const auto other = range(10) | map(draw);
  EXPECT_NE(stream_of(dataset, {.epoch = 0}), stream_of(other, {.epoch = 0}));
  // Another process has drawn another and goes on with this one.
  const Checkpoint checkpoint = dataset.iterate({.epoch = 5}).checkpoint();
  EXPECT_EQ(stream_of(other, {.resume = checkpoint}), stream_of(dataset, {.epoch = 5}));
}

TEST(Map, AnotherVersionOfTheFunctionIsAnotherPipeline) {
  const auto with = [](std::string version) {
    return range(10) | map([](std::int64_t x) { return x; }, {.version = std::move(version)});
  };
  auto iterator = with("1").iterate();
  take_stream(iterator, 4);
  const Checkpoint checkpoint = iterator.checkpoint();
  EXPECT_EQ(stream_of(with("1"), {.resume = checkpoint}), numbers({4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(error_of([&] { with("2").iterate({.resume = checkpoint}); }).message(),
            "the checkpoint belongs to another pipeline: its stage 1 is 'map(version=1)', this "
            "one's is 'map(version=2)'; resume with the pipeline that it was taken from, or start "
            "anew");
  EXPECT_EQ(with("").iterate().checkpoint().signature.back(), "map");
  const auto random = range(10) | map(draw, {.seed = 9, .version = "b, 2"});
  EXPECT_EQ(random.iterate().checkpoint().signature.back(), "map(seed=9, version=b, 2)");
  EXPECT_EQ(error_of([&] { with("1\n2"); }).message(),
            "map: version has a line break; give one line, such as \"2\"");
}

// --- Parallel stages inside each other
// -------------------------------------------------------------

TEST(Map, ParallelStagesInARowShareAnExecutorOfOneThread) {
  const auto plus_one = [](std::int64_t x) { return x + 1; };
  auto dataset = range(2000) | map(plus_one, {.parallelism = 4});
  for (int i = 0; i < 5; ++i) dataset = dataset | map(plus_one, {.parallelism = 4}) | prefetch(2);
  Stream expected;
  for (std::int64_t i = 6; i < 2006; ++i) expected.push_back(std::to_string(i));
  EXPECT_EQ(stream_of(dataset, {.executor = Executor::threads(1)}), expected);
  if (kTbbIsTested) {
    EXPECT_EQ(stream_of(dataset, {.executor = Executor::tbb(1)}), expected);
  }
}

TEST(Map, AFunctionMayIterateAParallelDatasetOnTheSameExecutor) {
  std::vector<std::shared_ptr<Executor>> executors = {Executor::threads(1), Executor::threads(3),
                                                      Executor::inline_()};
  if (kTbbIsTested) executors.push_back(Executor::tbb(1));
  for (const auto& executor : executors) {
    const auto sum_below = [executor](std::int64_t n) {
      const auto inner = range(n) | map([](std::int64_t x) { return x; }, {.parallelism = 2}) |
                         prefetch(1) | map([](std::int64_t x) { return x; }, {.parallelism = 2});
      std::int64_t sum = 0;
      for (const std::int64_t x : inner.iterate({.executor = executor})) sum += x;
      return sum;
    };
    Stream expected;
    for (std::int64_t n = 0; n < 60; ++n) expected.push_back(std::to_string(n * (n - 1) / 2));
    expected[0] = "0";
    EXPECT_EQ(stream_of(range(60) | map(sum_below, {.parallelism = 3}), {.executor = executor}),
              expected);
  }
}

TEST(Map, AFunctionMayIterateADatasetWithAnExecutorOfItsOwn) {
  const auto sum_below = [](std::int64_t n) {
    std::int64_t sum = 0;
    const auto inner = range(n) | map([](std::int64_t x) { return x; }, {.parallelism = 2});
    for (const std::int64_t x : inner.iterate()) sum += x;
    return sum;
  };
  Stream expected;
  for (std::int64_t n = 0; n < 40; ++n) expected.push_back(std::to_string(n * (n - 1) / 2));
  expected[0] = "0";
  EXPECT_EQ(stream_of(range(40) | map(sum_below, {.parallelism = 4})), expected);
}

// --- Errors
// -----------------------------------------------------------------------------------------

TEST(Map, AnErrorKeepsWhatTheFunctionSaidAndNamesTheStage) {
  const auto fails = [](std::int64_t x) {
    if (x == 1) {
      throw Error(ErrorCode::data_loss, "no image").at_file("a.png").at_offset(12).at_record(3);
    }
    if (x == 2) throw 7;
    if (x == 3) throw std::runtime_error("no label");
    return x;
  };
  for (const int parallelism : {1, 2}) {
    const auto dataset =
        range(5) | map(fails, {.parallelism = parallelism}) | batch(1) | prefetch();
    auto iterator = dataset.iterate();
    EXPECT_TRUE(iterator.next());
    const Error first = error_of([&] { iterator.next(); });
    EXPECT_EQ(first.code(), ErrorCode::data_loss);
    EXPECT_EQ(first.message(), "no image");
    EXPECT_EQ(first.file(), "a.png");
    EXPECT_EQ(first.offset(), 12);
    EXPECT_EQ(first.record(), 3);
    EXPECT_EQ(first.stage(), "prefetch < batch < map");
    const Error second = error_of([&] { iterator.next(); });
    EXPECT_EQ(second.code(), ErrorCode::user_function);
    EXPECT_EQ(second.message(), "threw something that is not a std::exception");
    const Error third = error_of([&] { iterator.next(); });
    EXPECT_STREQ(third.what(), "user_function: no label [stage prefetch < batch < map]");
    EXPECT_TRUE(iterator.next());
    EXPECT_FALSE(iterator.next());
  }
}

TEST(Map, AnErrorOfAnInnerPipelineKeepsItsOwnPlace) {
  const auto fails = [](std::int64_t) -> std::int64_t { throw std::runtime_error("deep"); };
  const auto first_of_inner = [fails](std::int64_t x) {
    auto iterator = (range(x) | map(fails) | batch(1)).iterate();
    return static_cast<std::int64_t>(iterator.next()->size());
  };
  auto iterator = (range(1, 2) | map(first_of_inner)).iterate();
  EXPECT_EQ(error_of([&] { iterator.next(); }).stage(), "batch < map");
}

TEST(Map, RefusesParallelismThatIsNoNumberOfCalls) {
  for (const int wrong : {0, -2}) {
    const Error error =
        error_of([&] { range(3) | map([](std::int64_t x) { return x; }, {.parallelism = wrong}); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.message(), fmt::format("map: parallelism is {}; give 1 or more, or "
                                           "infeed::autotune",
                                           wrong));
  }
}

TEST(Map, KnowsItsLength) {
  EXPECT_EQ((range(10) | map(kTwice)).cardinality(), Cardinality::finite(10));
}

}  // namespace
}  // namespace infeed::test
