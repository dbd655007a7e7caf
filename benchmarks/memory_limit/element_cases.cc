#include <infeed/pipeline/cache.h>
#include <infeed/pipeline/interleave.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/prefetch.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/repeat.h>
#include <infeed/pipeline/shuffle.h>
#include <infeed/pipeline/unbatch.h>
#include <infeed/pipeline/window.h>

#include "measured_case.h"

// Elements that own their memory: vectors of bytes, and texts.
namespace infeed::memory_limit {
namespace {

using std::chrono::milliseconds;

using Bytes = std::vector<std::uint8_t>;

/// Returns a function whose results have so many bytes.
auto result_of(std::uint64_t bytes) {
  return [bytes](std::int64_t number) { return Bytes(bytes, static_cast<std::uint8_t>(number)); };
}

/// Returns about 1000 characters.
std::string text_of(std::int64_t number) {
  return std::string(static_cast<std::size_t>(700 + number * 37 % 600), 'x');
}

constexpr std::uint64_t kTextBytes = 1300;

/// Pauses now and then, long enough for every queue to fill.
Consumer slow_reader() { return {.step = milliseconds(10), .elements_per_step = 1000}; }

MemoryCase parallel_map(int parallelism, std::uint64_t result_mib, std::uint64_t limit_mib,
                        const Consumer& consumer) {
  return {.name = "map x" + std::to_string(parallelism) + ", results of " +
                  std::to_string(result_mib) + " MiB",
          .limit_bytes = limit_mib * kMiB,
          .calls = static_cast<std::uint64_t>(parallelism),
          .element_bytes = result_mib * kMiB,
          .on_top = "a result a call",
          .run = [=](const MemoryCase& of) {
            const auto results =
                range(INT64_MAX) | map(result_of(result_mib * kMiB), {.parallelism = parallelism});
            return measure(of, results, consumer);
          }};
}

MemoryCase windows() {
  constexpr std::uint64_t kSize = 16;
  return {.name = "window(16) of 1 MiB, prefetch",
          .limit_bytes = 64 * kMiB,
          .calls = 1,
          .element_bytes = kSize * kMiB,
          .on_top = "a window",
          .run = [](const MemoryCase& of) {
            const auto all = range(INT64_MAX) | map(result_of(kMiB)) |
                             window({.size = kSize, .shift = 4}) | prefetch();
            return measure(of, all, {.elements_max = 60, .step = milliseconds(10)});
          }};
}

using Texts = Dataset<std::string>;

/// Texts of 64 KiB that a stage hands over many at a time, and of 1 MiB.
std::string long_text_of(std::int64_t number) {
  return std::string(64 << 10, static_cast<char>('a' + number % 26));
}
std::string longest_text_of(std::int64_t number) {
  return std::string(kMiB, static_cast<char>('a' + number % 26));
}

/// Texts behind a stage.
MemoryCase texts_case(const std::string& name, std::uint64_t limit_mib, std::uint64_t calls,
                      std::function<Texts()> make) {
  return {.name = name,
          .limit_bytes = limit_mib * kMiB,
          .calls = calls,
          .element_bytes = kTextBytes,
          .on_top = "a text a call",
          .run = [make = std::move(make)](const MemoryCase& of) {
            return measure(of, make(), slow_reader());
          }};
}

std::vector<MemoryCase> text_cases() {
  constexpr std::int64_t kTexts = 100'000;
  const Texts texts = range(kTexts) | map(&text_of);
  const auto longer = [](std::string text) { return text + "abcdefgh"; };
  const auto inner = [](std::int64_t first) {
    return range(first, first + kTexts / 20) | map(&text_of);
  };
  return {
      texts_case("texts: prefetch", 32, 1, [=] { return texts | prefetch(100'000); }),
      texts_case(
          "texts: shuffle, prefetch", 64, 1,
          [=] { return texts | shuffle({.buffer = 30'000, .seed = 1}) | prefetch(100'000); }),
      texts_case("texts: map x4, unordered map x4", 16, 8,
                 [=] {
                   return texts | map(longer, {.parallelism = 4}) |
                          map(longer, {.parallelism = 4, .ordered = false});
                 }),
      texts_case("texts: interleave x4 of 16, prefetch", 16, 4,
                 [=] {
                   return range(20) | interleave(inner, {.cycle_length = 16, .parallelism = 4}) |
                          prefetch(100'000);
                 }),
  };
}

std::vector<MemoryCase> long_text_cases() {
  const auto read = [](std::int64_t) { return range(20) | map(&longest_text_of); };
  return {
      {.name = "texts of 64 KiB: window(256), unbatch, 2 x prefetch",
       .limit_bytes = 48 * kMiB,
       .calls = 1,
       .element_bytes = 256 * 64 << 10,
       .on_top = "a window",
       .run =
           [](const MemoryCase& of) {
             const auto all = range(8'000) | map(&long_text_of) | window({.size = 256}) |
                              unbatch() | prefetch(1000) | prefetch(1000);
             return measure(of, all, {.step = milliseconds(10), .elements_per_step = 100});
           }},
      {.name = "texts of 1 MiB: interleave x4 of 16, prefetch",
       .limit_bytes = 16 * kMiB,
       .calls = 4,
       .element_bytes = kMiB,
       .on_top = "a text a call",
       .run =
           [read](const MemoryCase& of) {
             const auto all = range(20) | interleave(read, {.cycle_length = 16, .parallelism = 4}) |
                              prefetch(1000);
             return measure(of, all, {.step = milliseconds(3)});
           }},
  };
}

MemoryCase cached_texts() {
  constexpr std::int64_t kTexts = 30'000;
  // Bytes of a text's string, its characters and the allocator's rounding.
  constexpr std::uint64_t kContentBytes = kTexts * (1000 + sizeof(std::string) + 16);
  MemoryCase result = texts_case("texts: cache, read twice, prefetch", 64, 1, [] {
    return range(kTexts) | map(&text_of) | cache() | repeat(2) | prefetch(100'000);
  });
  result.kept_bytes = kContentBytes + kContentBytes / 8;
  return result;
}

}  // namespace

std::vector<MemoryCase> element_cases() {
  std::vector<MemoryCase> cases = {
      parallel_map(16, 1, 8, {.elements_max = 200, .step = milliseconds(4)}),
      parallel_map(4, 50, 64, {.elements_max = 25, .step = milliseconds(60)}),
      windows(),
  };
  for (MemoryCase& texts : text_cases()) cases.push_back(std::move(texts));
  cases.push_back(cached_texts());
  for (MemoryCase& texts : long_text_cases()) cases.push_back(std::move(texts));
  return cases;
}

}  // namespace infeed::memory_limit
