#include <map>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

constexpr std::int64_t kKeys = 5;

/// Keys -2 .. 2; 13 has none.
std::int64_t key_of(std::int64_t n) {
  if (n == 13) throw std::runtime_error("no key");
  return n % kKeys - 2;
}
std::int64_t size_of(std::int64_t key) { return key == 1 ? 0 : 3 + key; }

Stream group_model(const Slots& in) {
  Stream stream;
  std::map<std::int64_t, std::string> windows;
  std::map<std::int64_t, std::int64_t> counts;
  const auto give = [&](std::int64_t key) {
    stream.push_back("(" + std::to_string(key) + ", {" + windows[key] + "})");
    windows[key].clear();
    counts[key] = 0;
  };
  for (const Slot& slot : in) {
    if (slot.fails) {
      stream.push_back(show(slot));
      continue;
    }
    if (slot.value == 13) {
      stream.push_back("! no key");
      continue;
    }
    const std::int64_t key = key_of(slot.value);
    if (size_of(key) < 1) {
      stream.push_back("! group_by_window: the size for key 1 is 0; it must be at least 1");
      continue;
    }
    windows[key] += (windows[key].empty() ? "" : " ") + std::to_string(slot.value);
    if (++counts[key] == size_of(key)) give(key);
  }
  for (const auto& [key, count] : counts) {
    if (count > 0) give(key);
  }
  return stream;
}

TEST(GroupByWindow, PassesTheSuite) {
  run_stage_suite(
      [](auto dataset) {
        using T = typename decltype(dataset)::element_type;
        return dataset | group_by_window([](const T& x) { return key_of(value_of(x)); },
                                         [](std::int64_t key, std::vector<T> window) {
                                           return std::pair(key, std::move(window));
                                         },
                                         size_of);
      },
      &group_model);
}

TEST(GroupByWindow, GivesTensorFlowsOrder) {
  const auto batches =
      range(10) | group_by_window([](std::int64_t x) { return x % 3; },
                                  [](std::int64_t, std::vector<std::int64_t> window) {
                                    return slices(std::move(window)) | batch(2);
                                  },
                                  3);
  run_source_suite([&] { return batches; },
                   {"[0 3]", "[6]", "[1 4]", "[7]", "[2 5]", "[8]", "[9]"});
}

TEST(GroupByWindow, AsksForTheSizeOnceAKey) {
  const auto asked = std::make_shared<std::atomic<int>>(0);
  const auto groups =
      range(100) | group_by_window([](std::int64_t x) { return x % 4; },
                                   [](std::int64_t key, std::vector<std::int64_t>) { return key; },
                                   [asked](std::int64_t) {
                                     ++*asked;
                                     return 5;
                                   });
  EXPECT_EQ(stream_of(groups).size(), 20);
  EXPECT_EQ(*asked, 4);
}

TEST(GroupByWindow, AFailingReduceTakesItsWindowsPlace) {
  const auto groups = range(6) | group_by_window([](std::int64_t x) { return x % 2; },
                                                 [](std::int64_t key, std::vector<std::int64_t>) {
                                                   if (key == 1) throw std::runtime_error("odd");
                                                   return key;
                                                 },
                                                 2);
  run_source_suite([&] { return groups; }, {"0", "! odd", "0", "! odd"});
}

TEST(GroupByWindow, CountsWhatItHolds) {
  auto iterator =
      (range(1'000'000) |
       group_by_window([](std::int64_t x) { return x; },
                       [](std::int64_t key, std::vector<std::int64_t>) { return key; }, 2))
          .iterate({.memory_bytes_max = 1 << 20});
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::resource_exhausted);
  EXPECT_LE(iterator.memory().peak_bytes(), 1 << 20);
}

}  // namespace
}  // namespace infeed::test
