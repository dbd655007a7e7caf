#include "tfrecord/indexed_shard.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace infeed {
namespace {

TEST(RecordPlaces, hold_any_offsets) {
  std::mt19937_64 random(9);
  for (const std::uint64_t largest : {100ULL, 1ULL << 20, 1ULL << 34}) {
    std::vector<std::uint64_t> offsets{0};
    for (int i = 0; i < 1000; ++i) offsets.push_back(offsets.back() + random() % largest);
    const detail::RecordPlaces places(offsets);
    ASSERT_EQ(places.size(), 1000U);
    for (std::uint64_t i = 0; i <= 1000; ++i) ASSERT_EQ(places.offset(i), offsets[i]);
  }
  EXPECT_EQ(detail::RecordPlaces({0}).size(), 0U);
}

}  // namespace
}  // namespace infeed
