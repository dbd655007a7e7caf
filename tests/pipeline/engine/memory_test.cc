#include <array>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/infeed.h>

#include "engine/reader_resources.h"
#include "pipeline/suite/stream.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(MemoryAccount, WithoutALimitOnlyCounts) {
  MemoryAccount account(0);
  EXPECT_TRUE(account.try_reserve_best_effort(1ULL << 50));
  account.reserve_required(1ULL << 40, "shuffle");
  EXPECT_EQ(account.in_use_bytes(), (1ULL << 50) + (1ULL << 40));
  account.release_best_effort(1ULL << 50);
  account.release_required(1ULL << 40);
  EXPECT_EQ(account.in_use_bytes(), 0);
  EXPECT_EQ(account.peak_bytes(), (1ULL << 50) + (1ULL << 40));
}

TEST(MemoryAccount, KeepsAQuarterForTheElastic) {
  MemoryAccount account(1000);
  EXPECT_EQ(account.best_effort_limit_bytes(), 250);
  EXPECT_EQ(account.required_limit_bytes(), 750);
  account.reserve_required(750, "shuffle");
  EXPECT_TRUE(account.try_reserve_best_effort(250));
  EXPECT_FALSE(account.try_reserve_best_effort(1));
  account.release_best_effort(1);
  EXPECT_TRUE(account.try_reserve_best_effort(1));
  EXPECT_EQ(account.peak_bytes(), 1000);
}

TEST(MemoryAccount, KnowsTheSmallestLimitForSoMuch) {
  EXPECT_EQ(MemoryAccount::limit_for(0), 0);
  for (std::uint64_t bytes = 1; bytes < 1000; ++bytes) {
    const std::uint64_t limit = MemoryAccount::limit_for(bytes);
    EXPECT_GE(MemoryAccount(limit).required_limit_bytes(), bytes) << bytes;
    EXPECT_TRUE(limit == 1 || MemoryAccount(limit - 1).required_limit_bytes() < bytes) << bytes;
  }
}

TEST(MemoryAccount, ARefusalSaysWhoAskedForWhat) {
  MemoryAccount account(1000);
  account.reserve_required(700, "shuffle");
  const Error error = error_of([&] { account.reserve_required(51, "cache"); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(
      error.message(),
      "cache needs 51 bytes more, but its memory limit allows the buffering stages 750 bytes, "
      "of which 700 are in use; raise memory_bytes_max from 1000 to at least 1001, or make the "
      "buffers smaller");
  EXPECT_EQ(account.in_use_bytes(), 700);
}

TEST(MemoryAccount, AsksForWhatOthersOfferBeforeItRefuses) {
  MemoryAccount account(1000);
  account.reserve_dispensable(400, "cache[1]");
  account.reserve_dispensable(300, "cache[2]");
  EXPECT_THROW(account.reserve_dispensable(100, "cache[3]"), Error) << "nobody is asked for that";
  std::uint64_t kept_first = 400;
  std::uint64_t kept_second = 300;
  const MemoryOffer first(account, [&] { account.release_required(std::exchange(kept_first, 0)); });
  const MemoryOffer second(account,
                           [&] { account.release_required(std::exchange(kept_second, 0)); });
  account.reserve_required(50, "shuffle");
  EXPECT_EQ(account.in_use_bytes(), 750);
  account.reserve_required(50, "shuffle");
  EXPECT_EQ(account.in_use_bytes(), 400) << "no more is given up than needed";
  account.set_limit(534);
  EXPECT_EQ(account.in_use_bytes(), 400);
  account.set_limit(532);
  EXPECT_EQ(account.in_use_bytes(), 100) << "400 bytes need 533";
  EXPECT_THROW(account.reserve_required(300, "shuffle"), Error) << "there is nothing left";
}

TEST(MemoryAccount, TakesAnotherLimitWhileItIsUsed) {
  MemoryAccount account(1000);
  account.reserve_required(300, "shuffle");
  EXPECT_TRUE(account.try_reserve_best_effort(250));
  account.set_limit(400);
  EXPECT_EQ(account.best_effort_limit_bytes(), 100);
  account.release_best_effort(140);
  EXPECT_FALSE(account.try_reserve_best_effort(1)) << "110 are still held";
  account.release_best_effort(20);
  EXPECT_TRUE(account.try_reserve_best_effort(1));
  const Error error = error_of([&] { account.set_limit(398); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(error.message(),
            "the memory limit can't be 398 bytes from now on: the buffering stages hold 300 bytes; "
            "give at least 399, or 0 for no limit");
  EXPECT_EQ(account.limit_bytes(), 400);
}

TEST(MemoryAccount, BoundsTheElasticAlone) {
  MemoryAccount account(0);
  account.bound_best_effort(100);
  EXPECT_TRUE(account.try_reserve_best_effort(100));
  EXPECT_FALSE(account.try_reserve_best_effort(1));
  account.reserve_required(5000, "shuffle");
  account.bound_best_effort(UINT64_MAX);
  EXPECT_TRUE(account.try_reserve_best_effort(5000));
}

TEST(MemoryAccount, CountsWhatItRefusesAndWhatIsHeldAnyway) {
  MemoryAccount account(1000);
  EXPECT_EQ(account.refusals(), 0);
  EXPECT_FALSE(account.try_reserve_best_effort(251));
  EXPECT_EQ(account.refusals(), 1);
  EXPECT_EQ(account.in_use_bytes(), 0);
  account.hold_best_effort(400);
  EXPECT_EQ(account.best_effort_bytes(), 400);
  EXPECT_FALSE(account.try_reserve_best_effort(1));
  EXPECT_EQ(account.refusals(), 2);
  account.release_best_effort(151);
  EXPECT_TRUE(account.try_reserve_best_effort(1));
  EXPECT_EQ(account.best_effort_bytes(), 250);
  EXPECT_EQ(account.peak_bytes(), 400);
  account.reserve_required(600, "shuffle");
  account.set_limit(0);
  EXPECT_TRUE(account.try_reserve_best_effort(5000));
  EXPECT_EQ(account.refusals(), 2);
}

/// The spare blocks take a sixteenth of the limit, between one MiB and eight.
TEST(ReaderResources, ShareSpareBlocksThatCountInTheAccount) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const std::string unknown_file = "https://host/file";
  for (const auto& [limit, expected] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 8 * kMiB}, {1024 * kMiB, 8 * kMiB}, {32 * kMiB, 2 * kMiB}, {16 * kMiB, kMiB}}) {
    SCOPED_TRACE(limit);
    MemoryAccount account(limit);
    detail::ReaderResources readers(account);
    const auto blocks = readers.spare_blocks(unknown_file);
    ASSERT_NE(blocks, nullptr);
    EXPECT_EQ(blocks->bytes_max(), expected);
    EXPECT_EQ(readers.spare_blocks(unknown_file), blocks);
    EXPECT_EQ(account.best_effort_bytes(), expected);
    readers.drop_spare_blocks();
    readers.drop_spare_blocks();
    EXPECT_EQ(account.in_use_bytes(), 0);
    EXPECT_NE(readers.spare_blocks(unknown_file), blocks);
    EXPECT_EQ(account.best_effort_bytes(), expected);
  }
  MemoryAccount small(16 * kMiB - 16);
  EXPECT_EQ(detail::ReaderResources(small).spare_blocks(unknown_file), nullptr);
  MemoryAccount bound(0);
  bound.bound_best_effort(8 * kMiB - 1);
  EXPECT_EQ(detail::ReaderResources(bound).spare_blocks(unknown_file), nullptr);
  EXPECT_EQ(small.in_use_bytes() + bound.in_use_bytes(), 0);
}

TEST(Memory, ALimitThatShrinksInMidRunIsKept) {
  const auto numbers =
      range(1 << 20) |
      map([](std::int64_t x) { return std::string(100, x % 2 == 0 ? 'a' : 'b'); }) |
      prefetch(20'000);
  auto iterator = numbers.iterate({.memory_bytes_max = 8 << 20});
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(iterator.next());
  constexpr std::uint64_t kLess = 1 << 20;
  iterator.set_memory_limit(kLess);
  // More than was kept ready before.
  for (int i = 0; i < 50'000; ++i) ASSERT_TRUE(iterator.next());
  for (int i = 0; i < 50'000; ++i) {
    ASSERT_EQ(iterator.next()->size(), 100u);
    ASSERT_LE(iterator.memory().in_use_bytes(), kLess / 4);
  }
}

/// Threads that had found no room went on only when the consumer took the next element.
TEST(Memory, ALimitThatIsRaisedLetsThreadsWorkAheadAtOnce) {
  using namespace std::chrono_literals;
  using Row1250 = std::array<std::int64_t, 1250>;
  const auto made = std::make_shared<std::atomic<int>>(0);
  const auto text = [made](std::int64_t x) {
    ++*made;
    return std::string(10'000, static_cast<char>('a' + x % 16));
  };
  const auto expect_more = [&made](const auto& dataset) {
    *made = 0;
    auto iterator = dataset.iterate({.memory_bytes_max = 160'000});
    ASSERT_TRUE(iterator.next());
    int before = -1;
    while (std::exchange(before, made->load()) != *made) std::this_thread::sleep_for(200ms);
    iterator.set_memory_limit(0);
    for (int i = 0; i < 500 && *made < before + 4; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_GE(*made, before + 4);
  };
  expect_more(range(400) | map(text) | prefetch(100));
  expect_more(range(400) | map(text, {.parallelism = 2}));
  expect_more(range(4) | interleave([text](std::int64_t) { return range(100) | map(text); },
                                    {.cycle_length = 4, .parallelism = 2}));
  expect_more(range(400) | batch_into<Row1250>(1,
                                               [made](std::int64_t x, const Row<Row1250>& row) {
                                                 ++*made;
                                                 row.value()[0] = x;
                                               },
                                               {.parallelism = 2}));
}

TEST(Memory, ALimitThatCannotSufficeIsRefusedInMidRun) {
  auto iterator = (range(100'000) | shuffle({.buffer = 10'000, .seed = 1}))
                      .iterate({.memory_bytes_max = 1 << 20});
  ASSERT_TRUE(iterator.next());
  EXPECT_EQ(error_of([&] { iterator.set_memory_limit(1 << 16); }).code(),
            ErrorCode::resource_exhausted);
  EXPECT_EQ(iterator.memory().limit_bytes(), 1u << 20);
}

TEST(MemoryAccount, NoAmountOverflows) {
  MemoryAccount account(1000);
  EXPECT_FALSE(account.try_reserve_best_effort(UINT64_MAX));
  EXPECT_THROW(account.reserve_required(UINT64_MAX, "cache"), Error);
}

TEST(MemoryAccount, IsNeverOverItsLimitUnderManyThreads) {
  MemoryAccount account(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&account] {
      for (int i = 0; i < 20'000; ++i) {
        if (account.try_reserve_best_effort(100)) account.release_best_effort(100);
        try {
          account.reserve_required(300, "shuffle");
          account.release_required(300);
        } catch (const Error&) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(account.peak_bytes(), 1000);
  EXPECT_EQ(account.in_use_bytes(), 0);
}

TEST(MemoryLimit, APipelineThatCantFitIsRefusedWithTheSum) {
  const auto dataset = range(100'000) | shuffle({.buffer = 10'000, .seed = 1}) | batch(1000);
  const Error error = error_of([&] { dataset.iterate({.memory_bytes_max = 100'000}); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_EQ(
      error.message(),
      "the pipeline's buffers need at least 88000 bytes (batch 8000 bytes, shuffle 80000 "
      "bytes), but memory_bytes_max 100000 leaves them 75000; raise it to at least 117333, or "
      "make the buffers smaller");
  EXPECT_EQ(dataset.count({.memory_bytes_max = 117'333}), 100);
  // A buffer whose need isn't known grows, and holds the smaller one meanwhile.
  const auto endless = range(10) | repeat() | shuffle({.buffer = 10'000, .seed = 1});
  EXPECT_EQ(error_of([&] { endless.iterate({.memory_bytes_max = 150'000}); }).message(),
            "the pipeline's buffers need at least 145536 bytes (shuffle 145536 bytes), but "
            "memory_bytes_max 150000 leaves them 112500; raise it to at least 194047, or make the "
            "buffers smaller");
  EXPECT_EQ((endless | take(100)).count({.memory_bytes_max = 194'047}), 100);
}

/// The bytes wrapped to none, and the limit was found out when it was too late.
TEST(MemoryLimit, BuffersBeyond64BitsAreRefused) {
  const auto refused = [](const auto& dataset) {
    return error_of([&] { dataset.iterate({.memory_bytes_max = 1 << 20}); }).message();
  };
  constexpr std::int64_t kMany = std::int64_t{1} << 61;
  const auto texts = range(kMany) | map([](std::int64_t) { return std::vector<std::int32_t>(1); });
  EXPECT_THAT(refused(range(kMany) | cache()), HasSubstr("cache 18014398509481983 bytes"));
  EXPECT_THAT(refused(range(kMany) | window({.size = kMany})),
              HasSubstr("window 18014398509481983 bytes"));
  EXPECT_THAT(refused(range(9) | repeat() | shuffle({.buffer = kMany})), HasSubstr("shuffle "));
  EXPECT_THAT(refused(texts | padded_batch(kMany)), HasSubstr("padded_batch "));
  EXPECT_THAT(
      refused(texts | pack(1, {.length = 1, .window = 2 * kMany, .columns = {{.name = "tokens"}}})),
      HasSubstr("pack "));
  EXPECT_THAT(refused(texts | pack(2 * kMany, {.length = 1, .columns = {{.name = "tokens"}}})),
              HasSubstr("pack "));
  EXPECT_THAT(refused(range(kMany) | cache() | window({.size = kMany})),
              HasSubstr("need at least 18014398509481983 bytes (window "));
}

TEST(MemoryLimit, PayloadsThatAreKnownAreCountedBeforeTheStart) {
  // 100 batches of 1,000 numbers in a shuffle's buffer, at 8 bytes a number.
  const auto batches = range(1'000'000) | batch(1000) | take(500) | shuffle({.buffer = 100});
  EXPECT_THAT(
      error_of([&] { batches.iterate({.memory_bytes_max = 900'000}); }).message(),
      HasSubstr(fmt::format("shuffle {} bytes", 100 * (8000 + sizeof(Batch<std::int64_t>)))));
  const auto cached = range(1'000'000) | batch(1000) | prefetch() | cache();
  EXPECT_THAT(
      error_of([&] { cached.iterate({.memory_bytes_max = 8'000'000}); }).message(),
      HasSubstr(fmt::format("cache {} bytes", 1000 * (8000 + sizeof(Batch<std::int64_t>)))));
}

TEST(MemoryLimit, ABufferThatOutgrowsItFailsAndSaysWho) {
  // The texts' length is not known before they are there.
  const auto dataset = range(1000) | map([](std::int64_t) { return std::string(10'000, 'x'); }) |
                       shuffle({.buffer = 100, .seed = 1});
  auto iterator = dataset.iterate({.memory_bytes_max = 200'000});
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_TRUE(error.message().starts_with("shuffle needs ")) << error.what();
  EXPECT_EQ(error.stage(), "shuffle");
  EXPECT_LE(iterator.memory().peak_bytes(), 200'000);
  EXPECT_EQ(iterator.memory().in_use_bytes(), 0);
}

TEST(MemoryLimit, ARefusalDuringAResumeLosesNothing) {
  const auto dataset = range(1000) | map([](std::int64_t) { return std::string(10'000, 'x'); }) |
                       shuffle({.buffer = 100, .seed = 1});
  Checkpoint checkpoint = dataset.iterate().checkpoint();
  checkpoint.position = 500;
  const Error error =
      error_of([&] { dataset.iterate({.memory_bytes_max = 200'000, .resume = checkpoint}); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);  // and AddressSanitizer finds no leak
}

TEST(MemoryLimit, QueuesHoldLessRatherThanFail) {
  const auto dataset =
      range(2000) | map([](std::int64_t x) { return std::string(1000, 'x') + std::to_string(x); }) |
      prefetch(1000) | prefetch(1000);
  auto iterator = dataset.iterate({.memory_bytes_max = 64 * 1024});
  std::size_t count = 0;
  while (iterator.next()) ++count;
  EXPECT_EQ(count, 2000);
  EXPECT_LE(iterator.memory().peak_bytes(), 64 * 1024);
}

}  // namespace
}  // namespace infeed::test
