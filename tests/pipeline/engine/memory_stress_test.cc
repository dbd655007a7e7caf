#include <functional>
#include <gtest/gtest.h>
#include <malloc.h>
#include <string>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/executors.h"
#include "process_status.h"
#include "sanitizers.h"

namespace infeed::test {
namespace {

using TextDataset = Dataset<std::string>;

/// Returns about 1000 characters.
std::string text_of_number(std::int64_t number) {
  return std::string(static_cast<std::size_t>(700 + number * 37 % 600), 'x');
}

struct BufferingStage {
  std::string name;
  std::function<TextDataset(const TextDataset&, SeededRandom&)> add;
};

/// All stages that hold elements back, in random sizes.
const std::vector<BufferingStage>& buffering_stages() {
  static const std::vector<BufferingStage> stages = {
      {"shuffle",
       [](const TextDataset& in, SeededRandom& random) {
         return in | shuffle({.buffer = 1 + random.below(300), .seed = 1});
       }},
      {"batch", [](const TextDataset& in,
                   SeededRandom& random) { return in | batch(random.between(1, 40)) | unbatch(); }},
      {"window",
       [](const TextDataset& in, SeededRandom& random) {
         return in | window({.size = random.between(1, 20)}) | unbatch();
       }},
      {"group_by_window",
       [](const TextDataset& in, SeededRandom& random) {
         return in |
                group_by_window(
                    [](const std::string& text) { return static_cast<int>(text.size() % 5); },
                    [](std::int64_t, std::vector<std::string> texts) { return texts; },
                    random.between(1, 30)) |
                unbatch();
       }},
      {"cache", [](const TextDataset& in, SeededRandom&) { return in | cache(); }},
      {"prefetch",
       [](const TextDataset& in, SeededRandom& random) {
         return in | prefetch(random.chance(0.3) ? autotune : random.between(1, 500));
       }},
      {"map",
       [](const TextDataset& in, SeededRandom& random) {
         const auto grow = [](std::string text) { return text + "abcdefgh"; };
         return in | map(grow, {.parallelism = static_cast<int>(random.between(2, 4))});
       }},
      {"interleave",
       [](const TextDataset& in, SeededRandom& random) {
         const auto twice = [](const std::string& text) {
           return range(2) | map([text](std::int64_t) { return text; });
         };
         return in | interleave(twice, {.cycle_length = random.between(2, 8), .parallelism = 2});
       }},
  };
  return stages;
}

TEST(MemoryStress, NoPipelineIsEverOverItsLimit) {
  SeededRandom random;
  const Executors executors;
  int whole = 0;
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    TextDataset dataset = range(random.between(1, 1500)) | map(&text_of_number);
    std::string names;
    for (std::int64_t left = random.between(1, 5); left > 0; --left) {
      const auto& [name, add] = buffering_stages()[random.below(buffering_stages().size())];
      dataset = add(dataset, random);
      names += " | " + name;
    }
    const std::uint64_t limit = static_cast<std::uint64_t>(random.between(20'000, 4'000'000));
    const NamedExecutor& executor = executors.any(random);
    SCOPED_TRACE(executor.name + names + ", limit " + std::to_string(limit));
    try {
      auto iterator = dataset.iterate({.memory_bytes_max = limit, .executor = executor.executor});
      try {
        while (iterator.next()) {
        }
        ++whole;
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
        ++refused;
      }
      // 64 KiB of elements may come on top for each call under way: two threads', the driver's, the
      // consumer's.
      ASSERT_LE(iterator.memory().peak_bytes(), limit + 4 * 64 * 1024);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::resource_exhausted) << error.what();
      ++refused;
    }
  }
  // Neither too easy nor too hard.
  EXPECT_GE(whole, 100);
  EXPECT_GE(refused, 50);
}

// The sanitizers keep what was freed.
constexpr bool kMemoryIsGivenBack = !test::kAddressSanitizer && !test::kThreadSanitizer;

TEST(MemoryStress, ResidentMemoryKeepsToTheLimitToo) {
  constexpr std::uint64_t kLimit = 100'000'000;
#ifdef __GLIBC__
  // With several arenas, memory that one thread allocated and another freed can't serve the next
  // thread: the same run takes 90 MB or 150 by chance, and 84 MB with one.
  mallopt(M_ARENA_MAX, 1);
#endif
  const auto dataset =
      range(200'000) | map(&text_of_number, {.parallelism = 2}) |
      shuffle({.buffer = 50'000, .seed = 1}) | prefetch(1'000'000) | batch(100) | unbatch() |
      map([](const std::string& text) { return text.size(); }, {.parallelism = 2}) | prefetch();
  const std::uint64_t before = status_bytes("VmRSS");
  restart_resident_peak();
  auto iterator = dataset.iterate({.memory_bytes_max = kLimit});
  std::uint64_t count = 0;
  while (iterator.next()) ++count;
  EXPECT_EQ(count, 200'000);
  EXPECT_LE(iterator.memory().peak_bytes(), kLimit);
  EXPECT_GE(iterator.memory().peak_bytes(), kLimit / 2) << "the limit was never near";
  if (kMemoryIsGivenBack) {
    EXPECT_LE(status_bytes("VmHWM") - before, kLimit / 10 * 11 + (std::uint64_t{32} << 20));
  }
}

}  // namespace
}  // namespace infeed::test
