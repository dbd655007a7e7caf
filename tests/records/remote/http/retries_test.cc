#include "remote/http/retries.h"

#include <gtest/gtest.h>
#include <set>

#include "test_seed.h"

namespace infeed::detail {
namespace {

using namespace std::chrono_literals;

TEST(Retries, PausesDoubleUpToALimitAndAreHalfDrawnAtRandom) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE("INFEED_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const UrlOptions options{.retry_delay = 100ms, .retry_delay_max = 350ms};
  for (const auto& [tries, longest] :
       {std::pair(0U, 100ms), std::pair(1U, 200ms), std::pair(2U, 350ms), std::pair(99U, 350ms)}) {
    std::set<std::chrono::milliseconds> drawn;
    for (int i = 0; i < 100; ++i) drawn.insert(pause_before_retry({}, tries, options, random));
    EXPECT_GE(*drawn.begin(), longest / 2);
    EXPECT_LE(*drawn.rbegin(), longest);
    EXPECT_GT(drawn.size(), 10U);
  }
}

TEST(Retries, PausesAreAsTheServerWantsUpToTheSameLimit) {
  std::mt19937_64 random(test::test_seed());
  const UrlOptions options{.retry_delay = 100ms, .retry_delay_max = 350ms};
  EXPECT_EQ(pause_before_retry({.pause = 300ms}, 0, options, random), 300ms);
  EXPECT_EQ(pause_before_retry({.pause = 1h}, 0, options, random), 350ms);
  EXPECT_GE(pause_before_retry({.pause = 0ms}, 0, options, random), 50ms);
}

}  // namespace
}  // namespace infeed::detail
