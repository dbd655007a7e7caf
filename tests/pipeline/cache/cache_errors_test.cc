#include <atomic>
#include <memory>

#include <infeed/infeed.h>

#include "matchers.h"
#include "pipeline/suite/terminal.h"
#include "records/temporary_files.h"

// A cache's handling of errors: those that it holds, those in front of it that disappear once it is
// full, and its own.

namespace infeed::test {
namespace {

constexpr auto kChunk =
    static_cast<std::int64_t>(chunk_capacity(detail::kTypeInfo<Batch<std::int64_t>>));

/// The function of a map that fails at one element.
auto failing_at(std::int64_t place) {
  return [place](std::int64_t x) {
    if (x == place) throw std::runtime_error("no " + std::to_string(x));
    return x;
  };
}

/// In memory (false) and in a folder.
class CacheErrors : public ::testing::TestWithParam<bool> {
 protected:
  /// Returns a name that isn't in use.
  std::string fresh() { return folder_.file("cache" + std::to_string(count_++)); }

  template <class T>
  Dataset<T> cached(const Dataset<T>& input, const std::string& folder) {
    return GetParam() ? input | cache({.path = folder}) : input | cache();
  }

  /// Each pass must give `input`, as without a cache, whichever pass filled the cache.
  template <class Input>
  void expect_the_same_in_each_pass(const Input& input) {
    const Stream expected = stream_of(input());
    const auto dataset = cached(input(), fresh());
    for (int pass = 0; pass < 3; ++pass) {
      SCOPED_TRACE(pass);
      EXPECT_TRUE(stream_of(dataset) == expected);
    }
    Stream thrice = expected;
    for (int pass = 1; pass < 3; ++pass) {
      thrice.insert(thrice.end(), expected.begin(), expected.end());
    }
    EXPECT_TRUE(stream_of(cached(input(), fresh()) | repeat(3)) == thrice);
  }

  /// Goes on at each place of the second iteration, whose cache is full, in a dataset described
  /// anew, whose cache is empty; with a folder also with the first one's files.
  template <class Input>
  void expect_equal_behind_a_full_cache(const Input& input) {
    const std::string full = fresh();
    const auto dataset = cached(input(), full);
    const Stream expected = stream_of(dataset);
    ASSERT_FALSE(expected.empty());
    for (std::size_t place = 0; place <= expected.size(); ++place) {
      SCOPED_TRACE(place);
      auto second = dataset.iterate();
      EXPECT_EQ(take_stream(second, place), from_to(expected, 0, place));
      const std::string text = second.checkpoint().to_text();
      for (const std::string& folder : {full, fresh()}) {
        auto resumed = cached(input(), folder).iterate({.resume = Checkpoint::from_text(text)});
        EXPECT_EQ(take_stream(resumed), from_to(expected, place, expected.size()))
            << (folder == full ? "behind a full cache" : "behind an empty cache");
      }
    }
  }

  static Stream from_to(const Stream& stream, std::size_t from, std::size_t to) {
    return {stream.begin() + static_cast<std::ptrdiff_t>(from),
            stream.begin() + static_cast<std::ptrdiff_t>(to)};
  }

 private:
  const TemporaryFolder folder_{test::memory_folder()};
  int count_ = 0;
};

// clang-format off
INSTANTIATE_TEST_SUITE_P(, CacheErrors, ::testing::Bool(),
                         [](const auto& in_files) { return in_files.param ? "InAFolder" : "InMemory"; });
// clang-format on

TEST_P(CacheErrors, AResumeBehindAFullOneSeesThoseThatItHides) {
  expect_equal_behind_a_full_cache([] { return range(10) | map(failing_at(3)) | skip_errors(); });
  expect_equal_behind_a_full_cache([] {
    return range(12) | map(failing_at(4)) | map(failing_at(9)) | skip_errors() |
           filter([](std::int64_t x) { return x != 1; });
  });
}

TEST_P(CacheErrors, AResumeBehindAFullOneFindsTheSameBatches) {
  expect_equal_behind_a_full_cache([] {
    return range(20) | map(failing_at(3)) | batch(4) | skip_errors() |
           map([](const Batch<std::int64_t>& rows) {
             std::int64_t folded = 0;
             for (const std::int64_t row : rows.values()) folded = 100 * folded + row;
             return folded;
           });
  });
  // The error takes the place of the unfinished batch, so all batches behind it differ.
  expect_equal_behind_a_full_cache(
      [] { return range(20) | batch(3) | unbatch() | map(failing_at(5)) | skip_errors(); });
}

TEST(CacheErrorsInMemory, AResumeBehindAFullOneOfBatchesFindsTheSame) {
  const auto make = [] {
    return range(20) | map(failing_at(3)) | batch(4) | skip_errors() | cache();
  };
  const auto dataset = make();
  const Stream expected = stream_of(dataset);
  EXPECT_EQ(expected,
            (Stream{"[0 1 2 4]", "[5 6 7 8]", "[9 10 11 12]", "[13 14 15 16]", "[17 18 19]"}));
  for (std::size_t place = 0; place <= expected.size(); ++place) {
    auto second = dataset.iterate();
    take_stream(second, place);
    auto resumed = make().iterate({.resume = second.checkpoint()});
    EXPECT_EQ(take_stream(resumed),
              Stream(expected.begin() + std::ptrdiff_t(place), expected.end()));
  }
}

// --- Errors behind the cardinality that is known -------------------------------------------------

TEST_P(CacheErrors, OneBehindTheKnownCardinalityIsInEachPass) {
  for (const int parallelism : {1, 2}) {
    SCOPED_TRACE(parallelism);
    // zip sees the left side's error before it sees that the right side is over.
    expect_the_same_in_each_pass([parallelism] {
      return zip(range(10, 16) | map(failing_at(13), {.parallelism = parallelism}), range(3)) |
             map([](const std::tuple<std::int64_t, std::int64_t>& both) {
               return 100 * std::get<0>(both) + std::get<1>(both);
             });
    });
    // The error of the remainder that is dropped comes behind nearly a chunk of batches, one and two.
    for (const std::int64_t batches : {kChunk - 1, kChunk, 2 * kChunk}) {
      SCOPED_TRACE(batches);
      expect_the_same_in_each_pass([=] {
        return range(3 * batches + 1) | map(failing_at(3 * batches), {.parallelism = parallelism}) |
               batch(3, {.drop_remainder = true}) |
               map([](const Batch<std::int64_t>& rows) { return rows.values()[0]; });
      });
    }
  }
}

TEST(CacheErrorsInMemory, OneBehindTheKnownNumberOfBatchesIsInEachPass) {
  for (const std::int64_t batches : {kChunk - 1, kChunk, 2 * kChunk}) {
    for (const int parallelism : {1, 2}) {
      for (int round = 0; round < 5; ++round) {
        const auto input = range(3 * batches + 1) |
                           map(failing_at(3 * batches), {.parallelism = parallelism}) |
                           batch(3, {.drop_remainder = true});
        const auto dataset = input | cache();
        const Stream expected = stream_of(input);
        ASSERT_EQ(expected.size(), batches + 1);
        for (int pass = 0; pass < 3; ++pass) EXPECT_TRUE(stream_of(dataset) == expected);
      }
    }
  }
}

TEST(CacheErrorsInMemory, OneBehindTheKnownLengthOfAZipIsInEachPass) {
  const auto dataset = zip(range(10, 16) | map(failing_at(13)), range(3)) | cache();
  for (int pass = 0; pass < 2; ++pass) {
    SCOPED_TRACE(pass);
    auto iterator = dataset.iterate();
    for (std::int64_t x = 0; x < 3; ++x) EXPECT_EQ(iterator.next(), std::tuple(10 + x, x));
    try {
      EXPECT_FALSE(iterator.next());
      ADD_FAILURE() << "the error behind the third pair is gone";
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "no 13");
    }
    EXPECT_FALSE(iterator.next());
  }
}

// --- Its own error -------------------------------------------------------------------------------

/// A server's trouble in the first epoch was in the data's place in all others.
TEST(CacheErrorsInMemory, OneThatMayPassIsInItsPassAlone) {
  int passes = 0;
  const auto dataset = range(300) | map([&passes](std::int64_t x) {
                         if (x == 0) ++passes;
                         if (x == 123 && passes == 1) {
                           throw Error(ErrorCode::unavailable, "the server has trouble");
                         }
                         return x;
                       }) |
                       cache();
  const Stream first = stream_of(dataset);
  EXPECT_EQ(first.size(), 300U);
  EXPECT_EQ(first[123], "! the server has trouble");
  for (int pass = 1; pass < 4; ++pass) EXPECT_EQ(stream_of(dataset), stream_of(range(300)));
  EXPECT_EQ(passes, 2) << "the second pass fills the cache";
}

/// Elements that were left out while a server had trouble were missing in all later passes, and runs.
TEST_P(CacheErrors, ElementsThatWereLeftOutForAMomentComeInTheNextPass) {
  for (const ErrorCode code : {ErrorCode::unavailable, ErrorCode::deadline_exceeded}) {
    for (const int parallelism : {1, 2}) {
      auto passes = std::make_shared<std::atomic<int>>(0);
      const auto number = [passes, code](std::int64_t x) {
        if (x == 0) ++*passes;
        if (x == 2123 && *passes == 1) throw Error(code, "the server has trouble");
        if (x == 7) throw Error(ErrorCode::data_loss, "seven is lost");
        return x;
      };
      const auto dataset = cached(
          range(3000) | map(number, {.parallelism = parallelism}) | skip_errors() | prefetch(),
          fresh());
      EXPECT_EQ(stream_of(dataset).size(), 2998U);
      for (int pass = 1; pass < 4; ++pass) {
        SCOPED_TRACE(pass);
        EXPECT_EQ(stream_of(dataset),
                  stream_of(range(3000) | filter([](std::int64_t x) { return x != 7; })));
      }
      EXPECT_EQ(*passes, 2) << "the second pass fills the cache";
    }
  }
}

/// The rest of a file may be missing behind an error that is another shard's.
TEST_P(CacheErrors, AnotherShardsErrorThatMayPassEndsThePassThatFillsTheCache) {
  auto passes = std::make_shared<std::atomic<int>>(0);
  const auto dataset = cached(range(100) | map([passes](std::int64_t x) {
                                if (x == 0) ++*passes;
                                if (x == 51 && *passes == 1)
                                  throw Error(ErrorCode::unavailable, "the server has trouble");
                                return x;
                              }) | filter([](std::int64_t) { return true; }) |
                                  shard({.count = 2, .index = 0}),
                              fresh());
  const Stream ended = stream_of(dataset);
  EXPECT_EQ(ended.size(), 27U);
  EXPECT_TRUE(is_terminal(ended.back()));
  for (int pass = 1; pass < 4; ++pass) EXPECT_EQ(stream_of(dataset), stream_of(range(0, 100, 2)));
  EXPECT_EQ(*passes, 2);
}

TEST(CacheErrorsInMemory, NoRoomIsTerminalAndTakesNoElementsPlace) {
  const auto make = [] {
    return range(5000) | filter([](std::int64_t x) { return x != 1; }) | cache();
  };
  const Stream expected = stream_of(make());
  ASSERT_EQ(expected.size(), 4999);
  const Error error = expect_terminal_and_the_rest(make, {.memory_bytes_max = 16'384}, expected);
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_THAT(error.message(), HasSubstr("cache needs"));
  EXPECT_THAT(error.message(), HasSubstr("infeed::cache({.path = ...})"));
  // In front of skip_errors, too.
  const auto skipping = [&] { return make() | skip_errors(); };
  expect_terminal_and_the_rest(skipping, {.memory_bytes_max = 16'384}, expected);
}

TEST(CacheErrorsInMemory, ACheckpointOfACrampedRunGoesOnExactly) {
  // Under the limit it fails or gives the same as without.
  const auto make = [] {
    return range(5000) | filter([](std::int64_t x) { return x != 1; }) | cache();
  };
  const Stream expected = stream_of(make());
  auto cramped = make().iterate({.memory_bytes_max = 16'384});
  const Stream begin = take_stream(cramped, 4000);
  auto resumed = make().iterate({.resume = cramped.checkpoint()});
  const Stream rest = take_stream(resumed);
  const std::size_t place = expected.size() - rest.size();
  ASSERT_LE(place, begin.size());
  EXPECT_TRUE(Stream(begin.begin(), begin.begin() + std::ptrdiff_t(place)) ==
              Stream(expected.begin(), expected.begin() + std::ptrdiff_t(place)));
  EXPECT_TRUE(rest == Stream(expected.begin() + std::ptrdiff_t(place), expected.end()));
  // Elements taken without an error are not taken again.
  EXPECT_GE(place + 1, begin.size());
}

}  // namespace
}  // namespace infeed::test
