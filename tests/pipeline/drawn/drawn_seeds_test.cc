#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

#include <infeed/infeed.h>

#include "pipeline/drawn/described_anew.h"
#include "pipeline/suite/stream.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

// Stages without a given seed draw one when they are described, and a resume in another process
// describes them anew.
namespace infeed::test {
namespace {

const auto kDraw = [](std::int64_t x, Rng& rng) { return 1000 * x + rng.below(1000); };

TEST(DrawnSeeds, OfShufflesAreThoseOfTheCheckpoint) {
  expect_goes_on_when_described_anew(
      [] { return range(40) | shuffle({.buffer = 10}) | repeat(2) | shuffle({.buffer = 7}); });
  expect_goes_on_when_described_anew(
      [] { return range(40) | global_shuffle() | shuffle({.buffer = whole_input}) | batch(3); });
}

TEST(DrawnSeeds, OfMapsAreThoseOfTheCheckpoint) {
  for (const int parallelism : {1, 3}) {
    expect_goes_on_when_described_anew([parallelism] {
      return range(30) | map(kDraw, {.parallelism = parallelism, .version = "2"}) | repeat(2) |
             prefetch(2);
    });
  }
}

TEST(DrawnSeeds, OfSourcesAreThoseOfTheCheckpoint) {
  expect_goes_on_when_described_anew([] { return random_integers() | take(30); });
  expect_goes_on_when_described_anew([] {
    return files({"1", "2", "3", "4", "5", "6", "7"}, {.shuffle = true}) | repeat(3);
  });
  expect_goes_on_when_described_anew([] {
    return sample_from_datasets(
        std::vector{range(20) | shuffle({.buffer = 20}), range(100, 120) | map(kDraw)}, {});
  });
}

TEST(DrawnSeeds, OfInnerDatasetsFollowFromOneInTheCheckpoint) {
  const auto inner = [](std::int64_t x) {
    return range(10 * x, 10 * x + 6) | shuffle({.buffer = 6}) | map(kDraw);
  };
  // Before the first element was made nothing has been drawn.
  expect_goes_on_when_described_anew(1, [&] { return range(5) | flat_map(inner) | repeat(2); });
  for (const int parallelism : {1, 2}) {
    expect_goes_on_when_described_anew(1, [&] {
      return range(6) | interleave(inner, {.cycle_length = 3, .parallelism = parallelism});
    });
  }
  expect_goes_on_when_described_anew(1, [&] {
    return range(3) | flat_map([&](std::int64_t x) {
             return range(x, x + 2) | interleave(inner, {.cycle_length = 2});
           });
  });
  // Each draws its own seed, and another one in each epoch.
  const auto first_shuffles =
      range(2) | flat_map([](std::int64_t) { return range(50) | shuffle({.buffer = 50}); });
  const Stream one = stream_of(first_shuffles, {.epoch = 0});
  EXPECT_NE(Stream(one.begin(), one.begin() + 50), Stream(one.begin() + 50, one.end()));
  EXPECT_EQ(one, stream_of(first_shuffles, {.epoch = 0}));
  EXPECT_NE(one, stream_of(first_shuffles, {.epoch = 1}));
}

TEST(DrawnSeeds, OfInnerDatasetsStandInTheCheckpointOnlyWhereTheyAreDrawnFrom) {
  const auto dataset = range(3) | flat_map([](std::int64_t) {
                         return range(4) | shuffle({.buffer = 4, .seed = 1}) |
                                flat_map([](std::int64_t x) { return range(x); });
                       });
  auto iterator = dataset.iterate();
  take_stream(iterator, 5);
  EXPECT_EQ(iterator.checkpoint().signature.back(), "flat_map");
}

TEST(DrawnSeeds, OfAStageThatTwoShareAreTheSameForBoth) {
  expect_goes_on_when_described_anew([] {
    const auto shared = range(20) | shuffle({.buffer = 20});
    return zip(shared, shared) | map([](const std::tuple<std::int64_t, std::int64_t>& both) {
             return 100 * std::get<0>(both) + std::get<1>(both);
           });
  });
  const auto apart = zip(range(20) | shuffle({.buffer = 20}), range(20) | shuffle({.buffer = 20}));
  const auto once = range(20) | shuffle({.buffer = 20});
  const Checkpoint checkpoint = apart.iterate().checkpoint();
  EXPECT_EQ(error_of([&] { zip(once, once).iterate({.resume = checkpoint}); }).code(),
            ErrorCode::failed_precondition);
}

TEST(DrawnSeeds, ButNotGivenOnesMayDiffer) {
  const auto drawn = range(20) | shuffle({.buffer = 5}) | map(kDraw);
  const Checkpoint checkpoint = drawn.iterate().checkpoint();
  const auto given = range(20) | shuffle({.buffer = 5, .seed = 3}) | map(kDraw);
  const Error error = error_of([&] { given.iterate({.resume = checkpoint}); });
  EXPECT_EQ(error.code(), ErrorCode::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("this one's is 'shuffle(buffer=5, seed=87654321, seed2=3, "
                                         "reshuffle=true)'"));
  const auto other = range(20) | shuffle({.buffer = 6}) | map(kDraw);
  EXPECT_THAT(error_of([&] { other.iterate({.resume = checkpoint}); }).message(),
              HasSubstr("its stage 1 is 'shuffle(buffer=5, seed="));
}

TEST(DrawnSeeds, BehindACacheInMemoryGiveTheCheckpointsElements) {
  const auto describe = [] { return range(20) | map(kDraw) | cache() | repeat(2); };
  expect_goes_on_when_described_anew(describe);
  const auto first = describe();
  const Stream whole = stream_of(first, {.epoch = 0});
  auto iterator = first.iterate({.epoch = 0});
  take_stream(iterator, 25);
  const Checkpoint checkpoint = iterator.checkpoint();
  // This one has cached its own numbers, which a resumed iteration must not see, nor replace.
  const auto second = describe();
  const Stream own = stream_of(second);
  EXPECT_EQ(stream_of(second, {.resume = checkpoint}), Stream(whole.begin() + 25, whole.end()));
  EXPECT_EQ(stream_of(second), own);
}

TEST(DrawnSeeds, OfTheDatasetItselfLeaveItItsCache) {
  std::int64_t made = 0;
  const auto dataset = range(4) | flat_map([&made](std::int64_t x) {
                         ++made;
                         return range(10 * x, 10 * x + 5) | shuffle({.buffer = 5});
                       }) |
                       cache();
  const Stream whole = stream_of(dataset);
  auto iterator = dataset.iterate({.epoch = 0});
  take_stream(iterator, 8);
  const Checkpoint checkpoint = iterator.checkpoint();
  EXPECT_EQ(stream_of(dataset, {.resume = checkpoint}), Stream(whole.begin() + 8, whole.end()));
  EXPECT_EQ(made, 4);
}

TEST(DrawnSeeds, BehindACacheInFilesAreWhatTheFilesWereWrittenWith) {
  const TemporaryFolder folder(test::memory_folder());
  const auto cached = [&](const std::string& name) {
    return range(20) | map(kDraw) | cache({.path = folder.file(name)});
  };
  const auto first = cached("c");
  const Stream whole = stream_of(first);
  auto iterator = first.iterate();
  take_stream(iterator, 5);
  const Stream rest(whole.begin() + 5, whole.end());
  EXPECT_EQ(stream_of(cached("c"), {.resume = iterator.checkpoint()}), rest);
  EXPECT_EQ(stream_of(cached("empty"), {.resume = iterator.checkpoint()}), rest);
  // The next process has drawn another seed.
  EXPECT_THAT(stream_of(cached("c")).front(), HasSubstr("elements of another pipeline"));

  const auto stored = [&] { return range(20) | map(kDraw) | snapshot({.path = folder.file("s")}); };
  expect_goes_on_when_described_anew(stored);
}

TEST(DrawnSeeds, StayInAReshardedCheckpoint) {
  const auto share = [](std::uint64_t hosts, std::uint64_t host) {
    return range(60) | shuffle({.buffer = 60}) | shard({.count = hosts, .index = host}) |
           map(kDraw) | batch(2);
  };
  const auto one = share(1, 0);
  const Stream whole = stream_of(one, {.epoch = 0});
  auto iterator = one.iterate({.epoch = 0});
  take_stream(iterator, 6);
  std::vector<std::string> rows;
  for (std::uint64_t host = 0; host < 3; ++host) {
    const auto dataset = share(3, host);
    const Checkpoint resharded = reshard_checkpoint(iterator.checkpoint(), dataset);
    auto resumed = dataset.iterate({.resume = resharded});
    while (const auto rows_of_host = resumed.next()) {
      for (const std::int64_t row : rows_of_host->values()) rows.push_back(std::to_string(row));
    }
  }
  std::vector<std::string> expected;
  auto straight = one.iterate({.epoch = 0});
  for (int step = 0; const auto pair = straight.next(); ++step) {
    if (step < 6) continue;
    for (const std::int64_t row : pair->values()) expected.push_back(std::to_string(row));
  }
  EXPECT_THAT(rows, ::testing::UnorderedElementsAreArray(expected));
}

// --- Another process
// -------------------------------------------------------------------------------

auto of_each_process() {
  return range(200) | shuffle({.buffer = 50}) | map(kDraw, {.parallelism = 2}) |
         interleave([](std::int64_t x) { return range(x, x + 3) | shuffle({.buffer = 3}); },
                    {.cycle_length = 4}) |
         batch(4);
}

constexpr const char* kCheckpointVariable = "INFEED_TEST_CHECKPOINT";

/// Writes the rest of the stream, in the process that the test below starts.
void go_on_from(const std::string& path) {
  const std::string text = read_whole(path);
  std::ofstream out(path + ".rest");
  for (const std::string& element :
       stream_of(of_each_process(), {.resume = Checkpoint::from_text(text)})) {
    out << element << '\n';
  }
}

TEST(DrawnSeeds, GoOnInAnotherProcess) {
  if (const char* const path = std::getenv(kCheckpointVariable); path != nullptr) {
    return go_on_from(path);
  }
  const auto dataset = of_each_process();
  auto iterator = dataset.iterate();
  take_stream(iterator, 70);
  const TemporaryFolder folder;
  const std::string path = folder.file("checkpoint");
  write_whole(path, iterator.checkpoint().to_text());
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = fmt::format(
      "{}='{}' '{}' --gtest_filter=DrawnSeeds.GoOnInAnotherProcess "
      ">/dev/null",
      kCheckpointVariable, path, self);
  ASSERT_EQ(std::system(command.c_str()), 0);
  Stream rest;
  std::ifstream file(path + ".rest");
  for (std::string line; std::getline(file, line);) rest.push_back(line);
  EXPECT_EQ(rest, take_stream(iterator));
}

// --- One seed for the whole program
// ----------------------------------------------------------------

TEST(GlobalSeed, StagesInARowDrawDifferently) {
  const ShuffleOptions options{.buffer = 50, .global_seed = 7};
  const auto once = range(50) | shuffle(options);
  const auto signature = (once | shuffle(options)).iterate().checkpoint().signature;
  EXPECT_EQ(signature[1], "shuffle(buffer=50, seed=7, seed2=0, reshuffle=true)");
  EXPECT_NE(signature[2], signature[1]);
  // The seed depends only on the description: it is the same in every process.
  EXPECT_EQ(signature,
            (range(50) | shuffle(options) | shuffle(options)).iterate().checkpoint().signature);
  const auto numbered = random_integers({.global_seed = 7}) | take(50);
  EXPECT_NE((numbered | shuffle(options)).iterate().checkpoint().signature.back(), signature[1]);
  // Only stages that draw are counted.
  const auto other = range(50) | map([](std::int64_t x) { return x; }) | shuffle(options);
  EXPECT_EQ(other.iterate().checkpoint().signature.back(), signature[1]);
}

}  // namespace
}  // namespace infeed::test
