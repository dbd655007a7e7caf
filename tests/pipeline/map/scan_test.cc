#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

TEST(Scan, PassesTheSuite) {
  run_stage_suite(
      [](auto dataset) {
        return dataset | scan(std::int64_t{100}, [](std::int64_t sum, const auto& x) {
                 if (value_of(x) % 11 == 10) throw std::runtime_error("ten");
                 return std::pair(sum + value_of(x), sum + value_of(x));
               });
      },
      [](const Slots& in) {
        Stream stream;
        std::int64_t sum = 100;
        for (const Slot& slot : in) {
          if (slot.fails) {
            stream.push_back(show(slot));
          } else if (slot.value % 11 == 10) {
            stream.push_back("! ten");
          } else {
            stream.push_back(std::to_string(sum += slot.value));
          }
        }
        return stream;
      });
}

TEST(Scan, StartsAnewEachPass) {
  const auto sums =
      range(4) |
      scan(std::int64_t{0},
           [](std::int64_t sum, std::int64_t x) { return std::pair(sum + x, sum + x); }) |
      repeat(2);
  run_source_suite([&] { return sums; }, numbers({0, 1, 3, 6, 0, 1, 3, 6}));
}

TEST(Scan, TheStateMayOwnMemory) {
  const auto joined =
      range(4) | scan(std::string("x"), [](const std::string& text, std::int64_t x) {
        std::string longer = text + std::to_string(x);
        const auto length = static_cast<std::int64_t>(longer.size());
        return std::pair(std::move(longer), length);
      });
  run_source_suite([&] { return joined; }, numbers({2, 3, 4, 5}));
}

}  // namespace
}  // namespace infeed::test
