#include <cstddef>
#include <cstdint>
#include <string>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "sanitizers.h"
#include "thrown_error.h"

// The memory that a shuffle's buffer counts for, and what a limit refuses.
namespace infeed::test {
namespace {

TEST(ShuffleMemory, OfTheWholeInputKnowsItsMemory) {
  const auto full = range(10'000) | shuffle({.buffer = whole_input, .seed = 5});
  EXPECT_EQ(full.node()->buffer_bytes_min(), 80'000);
  EXPECT_EQ(error_of([&] { full.iterate({.memory_bytes_max = 80'000}); }).code(),
            ErrorCode::resource_exhausted);
  EXPECT_EQ(full.iterate().checkpoint().signature.back(),
            "shuffle(buffer=whole_input, seed=87654321, seed2=5, reshuffle=true)");
}

/// The bytes of all slots wrapped to none, and values were written behind them.
TEST(ShuffleMemory, MoreElementsThanMemoryHoldsAreRefused) {
  const auto dataset =
      range(1'000) | repeat(5'000'000'000'000'000) | shuffle({.buffer = whole_input});
  const Error limited = error_of([&] { dataset.iterate({.memory_bytes_max = 1 << 20}).next(); });
  EXPECT_EQ(limited.code(), ErrorCode::resource_exhausted);
  if (kAddressSanitizer || kThreadSanitizer) return;  // they end the program
  const Error error = error_of([&] { dataset.iterate().next(); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
}

/// It reserved for a chunk of elements, which made an optional cache give up what there was room
/// for, and set_memory_limit() refuse a limit that had been enough.
TEST(ShuffleMemory, AFullBufferReservesForOneElementAtATime) {
  constexpr std::uint64_t kBytes = 1000;
  const auto dataset = range(500) |
                       map([](std::int64_t i) { return std::string(kBytes, char('a' + i % 26)); }) |
                       shuffle({.buffer = 10, .seed = 4});
  for (const std::uint64_t limit : {std::uint64_t{16} << 20, 16 * kBytes}) {
    auto iterator = dataset.iterate({.memory_bytes_max = limit, .epoch = 0});
    std::size_t elements = 0;
    while (iterator.next()) ++elements;
    EXPECT_EQ(elements, 500U);
    EXPECT_GE(iterator.memory().peak_bytes(), 10 * kBytes);
    EXPECT_LE(iterator.memory().peak_bytes(), 11 * kBytes);
  }
}

/// A resume looks for the elements in 240,000 bytes, beside the 80,000 of the slots.
TEST(ShuffleMemory, AResumeCountsItsMemory) {
  const auto dataset = range(50'000) | shuffle({.buffer = 10'000, .seed = 4});
  const Stream whole = stream_of(dataset, {.epoch = 0});
  auto iterator = dataset.iterate({.epoch = 0});
  take_stream(iterator, 30'000);
  const Stream rest(whole.begin() + 30'000, whole.end());
  auto resumed = dataset.iterate({.resume = iterator.checkpoint()});
  EXPECT_GE(resumed.memory().peak_bytes(), 320'000);
  EXPECT_LE(resumed.memory().in_use_bytes(), 150'000);
  EXPECT_EQ(take_stream(resumed), rest);
  // A limit that suffices for the run suffices for its resume.
  constexpr std::uint64_t kLimit = 128 << 10;
  auto limited = dataset.iterate({.memory_bytes_max = kLimit, .resume = iterator.checkpoint()});
  EXPECT_LE(limited.memory().peak_bytes(), kLimit);
  EXPECT_EQ(take_stream(limited), rest);
}

TEST(ShuffleMemory, CountsTheErrorsInItsBuffer) {
  const Slots slots = failing_slots(2000, [](std::size_t i) { return i % 10 != 0; });
  const auto dataset = listed<std::int64_t>(slots) | shuffle({.buffer = 500, .seed = 1});
  auto iterator = dataset.iterate({.epoch = 0});
  // Behind an error nothing is left in a chunk, so the consumer is where the stage is.
  bool is_error = false;
  for (std::size_t taken = 0; taken < 600 || !is_error; ++taken)
    is_error = take_stream(iterator, 1).at(0).starts_with("! ");
  EXPECT_GE(iterator.memory().in_use_bytes(), 400 * sizeof(Error));
  auto resumed = dataset.iterate({.resume = iterator.checkpoint()});
  EXPECT_EQ(resumed.memory().in_use_bytes(), iterator.memory().in_use_bytes());
  EXPECT_EQ(take_stream(resumed), take_stream(iterator));
  EXPECT_EQ(resumed.memory().in_use_bytes(), 0U);
  EXPECT_EQ(iterator.memory().in_use_bytes(), 0U);
}

/// At any place: while the buffer is filled, and behind its first hand-outs.
TEST(ShuffleMemory, MoreErrorsThanMemoryHoldsAreRefused) {
  constexpr std::uint64_t kLimit = 64 << 10;
  for (const std::size_t first : {0, 1500}) {
    const Slots slots = failing_slots(3000, [&](std::size_t i) { return i >= first; });
    for (const Cut::Kind kind : {Cut::Kind::as_asked, Cut::Kind::single}) {
      const auto dataset =
          listed<std::int64_t>(slots, {kind}) | shuffle({.buffer = 1000, .seed = 1});
      const Stream whole = stream_of(dataset, {.epoch = 0});
      auto iterator = dataset.iterate({.memory_bytes_max = kLimit, .epoch = 0});
      const Stream got = take_stream(iterator);
      const std::size_t elements = elements_of(got);
      ASSERT_EQ(got.size(), elements + 1);
      EXPECT_EQ(elements >= 500, first == 1500) << elements;
      EXPECT_TRUE(got.back().starts_with("!! shuffle needs")) << got.back();
      EXPECT_LE(iterator.memory().peak_bytes(), kLimit);
      const auto refused = whole.begin() + static_cast<std::ptrdiff_t>(elements);
      EXPECT_EQ(Stream(got.begin(), got.end() - 1), Stream(whole.begin(), refused));
      EXPECT_EQ(stream_of(dataset, {.resume = iterator.checkpoint()}),
                Stream(refused, whole.end()));
    }
  }
}

TEST(ShuffleMemory, AGenerousBufferResumesBehindAFilter) {
  const auto dataset = range(1000) | filter([](std::int64_t x) { return x % 2 == 1; }) |
                       shuffle({.buffer = 1ULL << 60, .seed = 1});
  const Stream whole = stream_of(dataset, {.epoch = 0});
  auto iterator = dataset.iterate({.epoch = 0});
  take_stream(iterator, 200);
  auto resumed = dataset.iterate({.resume = iterator.checkpoint()});
  EXPECT_EQ(take_stream(resumed), Stream(whole.begin() + 200, whole.end()));
  EXPECT_LE(resumed.memory().peak_bytes(), 64 * 1024);
}

TEST(ShuffleMemory, AGenerousBufferCostsNothing) {
  auto iterator = (range(100) | shuffle({.buffer = 1ULL << 60, .seed = 1})).iterate();
  EXPECT_EQ(take_stream(iterator, 99).size(), 99);
  EXPECT_LE(iterator.memory().peak_bytes(), 64 * 1024);
}

}  // namespace
}  // namespace infeed::test
