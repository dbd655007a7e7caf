#include <cstdint>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/hand_over.h>

#include "engine/threads/clock.h"

// When a stage that collects elements hands over those it has.
namespace infeed::test {
namespace {

using Ints = std::vector<int>;

TEST(HandOver, IsDueOnceTheNewElementsOwn64KiB) {
  Chunk out(type_info<Ints>(), 10);
  HandOver one(out);
  out.append(Ints(16 * 1024));
  EXPECT_TRUE(one.is_due());
  HandOver two(out);
  out.append(Ints(8 * 1024));
  two.is_due();
  out.append(Ints(8 * 1024));
  EXPECT_TRUE(two.is_due());
}

TEST(HandOver, IsDueAfterItsTime) {
  Chunk out(type_info<Ints>(), 10);
  out.append(Ints(100'000));                       // no new one
  for (bool was_in_time = false; !was_in_time;) {  // a busy machine takes the core away
    const std::uint64_t begin_ticks = detail::ticks_now();
    HandOver of_any;
    HandOver of_chunk(out);
    const bool is_due = of_any.is_due() || of_chunk.is_due();
    was_in_time = detail::ticks_now() - begin_ticks < detail::hand_over_ticks();
    EXPECT_FALSE(is_due && was_in_time);
  }
  HandOver of_any;
  HandOver of_chunk(out);
  const std::uint64_t begin_ticks = detail::ticks_now();
  while (detail::ticks_now() - begin_ticks <= detail::hand_over_ticks()) {
  }
  EXPECT_TRUE(of_any.is_due());
  EXPECT_TRUE(of_chunk.is_due());
}

TEST(HandOver, CountsEachNewElementOnce) {
  for (bool was_in_time = false; !was_in_time;) {   // a busy machine takes the core away
    std::vector<Ints> elements(3, Ints(5 * 1024));  // 60 KiB in all
    Chunk out(type_info<Ints>(), 10);
    const std::uint64_t begin_ticks = detail::ticks_now();
    HandOver hand_over(out);
    bool is_due = false;
    for (Ints& element : elements) {
      out.append(std::move(element));
      is_due = hand_over.is_due() || is_due;
    }
    was_in_time = detail::ticks_now() - begin_ticks < detail::hand_over_ticks();
    EXPECT_FALSE(is_due && was_in_time);
  }
}

TEST(HandOver, LooksAtNoElementsThatOwnNothing) {
  Chunk out(type_info<std::int64_t>(), 10);
  HandOver hand_over(out);
  out.append(std::int64_t{7});
  while (!hand_over.is_due()) {
  }
}

}  // namespace
}  // namespace infeed::test
