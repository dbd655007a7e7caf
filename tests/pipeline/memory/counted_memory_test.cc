#include "pipeline/suite/counted_memory.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <malloc.h>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <infeed/detail/large_memory.h>

// The proof of memory limits must itself be proved.
namespace infeed::test {
namespace {

constexpr std::uint64_t kBytes = 10'000'000;
/// The most by which the allocator may round up.
constexpr std::uint64_t kRoundingBytes = 10'000;

/// Compilers leave out unused allocations.
const void* volatile seen_by_compiler;

/// All of it counts while it is there, and nothing afterwards.
template <class Allocate, class Free>
void expect_counted(Allocate allocate, Free free_memory) {
  const CountedMemory memory;
  auto* const got = allocate();
  seen_by_compiler = got;
  EXPECT_GE(memory.held_bytes(), kBytes);
  EXPECT_LE(memory.held_bytes(), kBytes + kRoundingBytes);
  free_memory(got);
  EXPECT_LE(memory.held_bytes(), kRoundingBytes);
  EXPECT_GE(memory.peak_bytes(), kBytes);
  EXPECT_LE(memory.peak_bytes(), kBytes + kRoundingBytes);
}

TEST(CountedMemory, CountsEveryWayToAskForMemory) {
  if (!kMemoryIsCounted) return;
  const auto c_free = [](void* memory) { std::free(memory); };
  expect_counted([] { return std::malloc(kBytes); }, c_free);
  expect_counted([] { return std::calloc(kBytes / 10, 10); }, c_free);
  expect_counted([] { return std::realloc(std::malloc(10), kBytes); }, c_free);
  expect_counted([] { return std::aligned_alloc(4096, kBytes / 4096 * 4096 + 4096); }, c_free);
  expect_counted([] { return ::memalign(64, kBytes); }, c_free);
  expect_counted(
      [] {
        void* memory = nullptr;
        EXPECT_EQ(::posix_memalign(&memory, 128, kBytes), 0);
        return memory;
      },
      c_free);
  expect_counted([] { return ::operator new(kBytes); },
                 [](void* memory) { ::operator delete(memory); });
  expect_counted([] { return new std::string(kBytes, 'x'); },
                 [](std::string* text) { delete text; });
}

TEST(CountedMemory, LeavesOutWhatIsOnlySkippedForAlignment) {
  if (!kMemoryIsCounted) return;
  // It begins at 2 MiB, of which the allocator reserves as much again.
  expect_counted([] { return detail::allocate_block_memory(kBytes, 64); },
                 [](std::byte* memory) { detail::free_block_memory(memory, kBytes, 64); });
}

TEST(CountedMemory, CountsAcrossThreadsAndForgetsNothing) {
  if (!kMemoryIsCounted) return;
  const CountedMemory memory;
  std::vector<std::unique_ptr<std::string>> texts(64);
  const auto in_threads = [&texts](auto work) {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < texts.size(); i += 4) work(texts[i], texts[63 - i]);
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  in_threads([](auto& text, auto&) { text = std::make_unique<std::string>(100'000, 'x'); });
  EXPECT_GE(memory.held_bytes(), 64 * 100'000);
  in_threads([](auto&, auto& of_another) { of_another = nullptr; });
  EXPECT_LE(memory.held_bytes(), 64 * sizeof(void*) + kRoundingBytes);
  EXPECT_GE(memory.peak_bytes(), 64 * 100'000);
}

TEST(CountedMemory, ThePeakStartsAnewAtWhatIsHeld) {
  if (!kMemoryIsCounted) return;
  const CountedMemory memory;
  const std::string held(kBytes, 'x');
  seen_by_compiler = held.data();
  {
    const std::string gone(kBytes, 'y');
    seen_by_compiler = gone.data();
  }
  EXPECT_GE(memory.peak_bytes(), 2 * kBytes);
  memory.restart_peak();
  EXPECT_LT(memory.peak_bytes(), 2 * kBytes);
  EXPECT_GE(memory.peak_bytes(), kBytes);
}

}  // namespace
}  // namespace infeed::test
