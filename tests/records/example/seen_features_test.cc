#include "infeed/records/detail/seen_features.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <new>

namespace infeed::detail {
namespace {

/// Memory that was used before may hold anything.
TEST(SeenFeatures, AreUnseenAtFirst) {
  for (const std::size_t features : {1, 63, 64, 65, 128, 129, 1023, 1024}) {
    alignas(SeenFeatures) std::byte memory[sizeof(SeenFeatures)];
    std::memset(memory, 0xff, sizeof(memory));
    SeenFeatures& seen = *new (memory) SeenFeatures(features);
    for (std::size_t i = 0; i < features; ++i) {
      EXPECT_TRUE(seen.add(i)) << i << " of " << features;
      EXPECT_FALSE(seen.add(i)) << i << " of " << features;
    }
    for (std::size_t i = 0; i < features; ++i) EXPECT_FALSE(seen.add(i)) << i << " of " << features;
  }
}

}  // namespace
}  // namespace infeed::detail
