#include <filesystem>
#include <regex>

#include <infeed/infeed.h>

#include "matchers.h"
#include "pipeline/cache/file_cache_fixture.h"
#include "pipeline/drawn/described_anew.h"
#include "pipeline/suite/stage_suite.h"

// Inner datasets without a given seed draw others in each process. A store that several processes
// make, or mend, still holds each element once. Here a process is a description.
namespace infeed::test {
namespace {

using ::testing::UnorderedElementsAreArray;
using Kind = StoreEvent::Kind;

auto drawn() {
  return range(10) | flat_map([](std::int64_t x) {
           return range(20 * x, 20 * x + 20) | shuffle({.buffer = 20});
         });
}

Stream from(const Stream& whole, std::size_t begin) {
  return {whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.end()};
}

TEST_F(FileCache, ANewProcessGoesOnWithInnerDatasetsAsTheyDrewInTheOneBefore) {
  const FileCacheOptions options = noting(fresh());
  const auto first = drawn() | cache(options);
  auto iterator = first.iterate();
  const Stream begin = take_stream(iterator, 130);
  iterator = {};
  ASSERT_GT(shards(options.path).size(), 3);
  kinds();
  const Stream whole = stream_of(drawn() | cache(options));
  EXPECT_THAT(kinds(), ElementsAre(Kind::resuming, Kind::finished));
  EXPECT_THAT(whole, UnorderedElementsAreArray(stream_of(range(200))));
  EXPECT_EQ(Stream(whole.begin(), whole.begin() + 130), begin);
  EXPECT_EQ(stream_of(drawn() | cache(options)), whole);
  EXPECT_EQ(stream_of(first, {.epoch = 0}), whole);
}

TEST_F(FileCache, ADamagedPartIsMadeAgainAsItWas) {
  for (const bool is_shorter : {true, false}) {
    const FileCacheOptions options = noting(fresh());
    const Stream whole = stream_of(drawn() | cache(options));
    const auto names = shards(options.path);
    if (is_shorter) {
      std::filesystem::resize_file(names[4], 30);
    } else {
      write_whole(names[4], std::string(std::filesystem::file_size(names[4]), '\0'));
    }
    for (int pass = 0; pass < 3; ++pass) {
      EXPECT_EQ(stream_of(drawn() | cache(options)), whole) << "pass " << pass;
    }
    // Removes all files.
    for (const auto& name : shards(options.path)) std::filesystem::remove(name);
    EXPECT_EQ(stream_of(drawn() | cache(options)), whole);
  }
}

TEST_F(FileCache, ACheckpointOfAReaderGoesOnWithoutTheFolder) {
  const FileCacheOptions options = noting(fresh());
  stream_of(drawn() | cache(options));
  for (const bool is_same_process : {true, false}) {
    const auto written = drawn() | cache(options);
    const auto reader = is_same_process ? written : drawn() | cache(options);
    const Stream whole = stream_of(reader, {.epoch = 0});
    for (const std::size_t taken : {1, 19, 20, 133, 200}) {
      auto iterator = reader.iterate({.epoch = 0});
      take_stream(iterator, taken);
      const auto resume = Checkpoint::from_text(iterator.checkpoint().to_text());
      EXPECT_EQ(stream_of(drawn() | cache(options), {.resume = resume}), from(whole, taken));
      // The caches of the next process are empty, since the files are gone.
      std::filesystem::rename(options.path, options.path + ".away");
      EXPECT_EQ(stream_of(drawn() | cache(options), {.resume = resume}), from(whole, taken));
      std::filesystem::remove_all(options.path);
      std::filesystem::rename(options.path + ".away", options.path);
    }
  }
}

TEST_F(FileCache, ARunGoesOnByItsCheckpointWhateverTheFolderHoldsBehindIt) {
  const FileCacheOptions options = noting(fresh());
  const auto first = drawn() | cache(options) | repeat(2);
  auto iterator = first.iterate();
  const Stream begin = take_stream(iterator, 130);
  const auto resume = Checkpoint::from_text(iterator.checkpoint().to_text());
  const Stream rest = take_stream(iterator);
  iterator = {};
  std::filesystem::remove_all(options.path);
  const Stream other = stream_of(drawn() | cache(options));
  ASSERT_NE(other, from(rest, 70));
  kinds();
  EXPECT_EQ(stream_of(drawn() | cache(options) | repeat(2), {.resume = resume}), rest);
  EXPECT_THAT(kinds(), Contains(Kind::other_draws));
  EXPECT_EQ(stream_of(drawn() | cache(options)), other);
}

TEST_F(FileCache, DrawsOfInterleavesAndOfSeveralStagesAreKeptEach) {
  const FileCacheOptions options = noting(fresh());
  const auto describe = [&] {
    const auto some = [](std::int64_t x) {
      return range(10 * x, 10 * x + 10) | shuffle({.buffer = 10});
    };
    return range(6) | flat_map(some) |
           concatenate(range(6, 12) | interleave(some, {.cycle_length = 3})) | cache(options);
  };
  {
    auto iterator = describe().iterate();
    take_stream(iterator, 100);
  }
  const Stream whole = stream_of(describe());
  EXPECT_THAT(whole, UnorderedElementsAreArray(stream_of(range(120))));
  const std::string journal = read_whole(options.path + "/elements.journal");
  EXPECT_TRUE(std::regex_search(journal, std::regex("drew\t1\tflat_map\\(seed=[0-9]+\\)\t")));
  EXPECT_TRUE(std::regex_search(journal, std::regex("drew\t3\tinterleave\\(seed=[0-9]+, cycle")));
}

TEST_F(FileCache, InAnInnerDatasetItGoesByTheOutermost) {
  const FileCacheOptions options = noting(fresh());
  const auto describe = [&] {
    const auto cached = drawn() | cache(options);
    return range(2) | flat_map([cached](std::int64_t) { return cached; });
  };
  auto iterator = describe().iterate();
  take_stream(iterator, 130);
  iterator = {};
  Stream expected = stream_of(range(200));
  const Stream again = stream_of(range(200));
  expected.insert(expected.end(), again.begin(), again.end());
  const auto next = describe();
  EXPECT_THAT(stream_of(next), UnorderedElementsAreArray(expected));
  EXPECT_THAT(stream_of(drawn() | cache(options)), UnorderedElementsAreArray(again));
  expect_goes_on_when_described_anew(1, describe);
}

/// It was refused as another pipeline's: each description of the inner dataset draws a seed, by which
/// nobody draws.
TEST_F(FileCache, InAnInnerDatasetThatIsDescribedAnewForEachElement) {
  const FileCacheOptions options = noting(fresh());
  const auto describe = [&] {
    return range(3) | flat_map([options](std::int64_t) {
             return range(50) | shuffle({.buffer = 50}) | cache(options);
           });
  };
  const auto dataset = describe();
  const Stream whole = stream_of(dataset);
  EXPECT_THAT(kinds(), ElementsAre(Kind::writing, Kind::finished, Kind::reading, Kind::reading));
  const Stream once(whole.begin(), whole.begin() + 50);
  EXPECT_THAT(once, UnorderedElementsAreArray(stream_of(range(50))));
  EXPECT_EQ(Stream(whole.begin() + 50, whole.begin() + 100), once);
  EXPECT_EQ(from(whole, 100), once);
  EXPECT_EQ(stream_of(dataset), whole);
  EXPECT_THAT(kinds(), ElementsAre(Kind::reading, Kind::reading, Kind::reading));
  // Another description of the outer dataset draws otherwise, so it goes without what is stored.
  EXPECT_EQ(stream_of(describe()).size(), 150);
  EXPECT_THAT(kinds(), ElementsAre(Kind::other_draws, Kind::other_draws, Kind::other_draws));
  // A given seed is no drawn one.
  const auto given = range(1) | flat_map([options](std::int64_t) {
                       return range(50) | shuffle({.buffer = 50, .seed = 1}) | cache(options);
                     });
  EXPECT_THAT(stream_of(given),
              ElementsAre(StartsWith("!! the folder holds the elements of another pipeline")));
}

TEST_F(FileCache, DrawsNothingWhereNobodyDraws) {
  const FileCacheOptions options = noting(fresh());
  const auto describe = [&] {
    return range(5) | flat_map([](std::int64_t x) { return range(x); }) | cache(options);
  };
  stream_of(describe());
  EXPECT_EQ(read_whole(options.path + "/elements.journal").find("drew"), std::string::npos);
  auto iterator = describe().iterate();
  take_stream(iterator, 3);
  EXPECT_EQ(iterator.checkpoint().signature[1], "flat_map");
}

TEST_F(FileCache, ASnapshotOfSeveralProcessesHoldsEachElementOnce) {
  const std::string path = fresh();
  const SnapshotOptions options{.path = path, .shard_bytes = 400};
  {
    auto iterator = (drawn() | snapshot(options)).iterate();
    take_stream(iterator, 130);
  }
  EXPECT_EQ(write_snapshot(drawn(), options).elements, 200U);
  EXPECT_THAT(stream_of(read_snapshot<std::int64_t>(path)),
              UnorderedElementsAreArray(stream_of(range(200))));
}

}  // namespace
}  // namespace infeed::test
