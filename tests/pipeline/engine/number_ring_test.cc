#include "engine/recording/number_ring.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "matchers.h"

namespace infeed::detail {
namespace {

using ::testing::Optional;

TEST(NumberRing, KeepsTheLastEntries) {
  NumberRing<2, 4> ring;
  EXPECT_EQ(ring.end(), 0u);
  EXPECT_EQ(ring.last_up_to(7, ring.end()), std::nullopt);
  for (std::uint64_t i = 0; i < 6; ++i) ring.push({10 * i, i});
  ring.set_last(1, 77);
  EXPECT_EQ(ring.end(), 6u);
  EXPECT_EQ(ring.at(1), std::nullopt);
  EXPECT_THAT(ring.at(2), Optional(ElementsAre(20u, 2u)));
  EXPECT_THAT(ring.at(5), Optional(ElementsAre(50u, 77u)));
}

TEST(NumberRing, ForgetsAnEntryForEachOneTooMany) {
  NumberRing<1, 4> ring;
  for (std::uint64_t i = 0; i < 4; ++i) ring.push({i});
  EXPECT_EQ(ring.first(), 0u);
  EXPECT_THAT(ring.at(0), Optional(ElementsAre(0u)));
  ring.push({4});
  EXPECT_EQ(ring.first(), 1u);
  EXPECT_EQ(ring.at(0), std::nullopt);
  EXPECT_THAT(ring.at(1), Optional(ElementsAre(1u)));
  EXPECT_THAT(ring.at(4), Optional(ElementsAre(4u)));
}

TEST(NumberRing, KeepsEntriesOfAllItsPages) {
  constexpr std::uint64_t kEntries = 256;
  NumberRing<2, kEntries> ring;
  for (std::uint64_t end = 1; end <= 3 * kEntries; ++end) {
    ring.push({10 * end, end});
    const std::uint64_t first = end - std::min(end, kEntries);
    ASSERT_EQ(ring.first(), first);
    for (std::uint64_t at = first; at < end; ++at)
      ASSERT_THAT(ring.at(at), Optional(ElementsAre(10 * (at + 1), at + 1))) << "of " << end;
  }
}

TEST(NumberRing, FindsTheLastEntryUpToANumber) {
  NumberRing<1, 8> ring;
  for (std::uint64_t i = 0; i < 20; ++i) ring.push({10 * i});
  EXPECT_EQ(ring.last_up_to(119, ring.end()), std::nullopt);
  EXPECT_THAT(ring.last_up_to(120, ring.end()), Optional(12u));
  EXPECT_THAT(ring.last_up_to(159, ring.end()), Optional(15u));
  EXPECT_THAT(ring.last_up_to(999, ring.end()), Optional(19u));
  EXPECT_THAT(ring.last_up_to(999, 15), Optional(14u));
}

TEST(NumberRing, NeverGivesAnEntryThatIsHalfWritten) {
  constexpr std::uint64_t kEntries = 200'000;
  NumberRing<3, 16> ring;
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kEntries; ++i) ring.push({i, 2 * i, 3 * i});
  });
  std::uint64_t seen = 0;
  while (ring.end() < kEntries) {
    const auto last = ring.last_up_to(seen, ring.end());
    const auto entry = last ? ring.at(*last) : std::nullopt;
    if (entry) {
      EXPECT_THAT(*entry, ElementsAre(*last, 2 * *last, 3 * *last));
    }
    seen = ring.end();
  }
  writer.join();
}

}  // namespace
}  // namespace infeed::detail
