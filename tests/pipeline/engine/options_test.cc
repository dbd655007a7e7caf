#include "infeed/pipeline/options.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <infeed/count.h>
#include <infeed/error.h>

#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(CheckedParallelism, IsAnyNumberOfThreadsOrAutotune) {
  constexpr int kMost = std::numeric_limits<int>::max();
  for (const auto& [given, expected] : std::vector<std::pair<std::int64_t, int>>{
           {1, 1},
           {2, 2},
           {autotune, autotune},
           {kMost, kMost},
           {std::int64_t{kMost} + 1, kMost},
           {std::numeric_limits<std::int64_t>::max(), kMost}}) {
    EXPECT_EQ(detail::checked_parallelism("map", given), expected) << given;
  }
}

TEST(CheckedParallelism, IsNoOtherNumber) {
  for (const std::int64_t given : {std::int64_t{0}, std::int64_t{-2}, -(std::int64_t{1} << 40)}) {
    const Error error = error_of([&] { detail::checked_parallelism("map", given); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.message(), "map: parallelism is " + std::to_string(given) +
                                   "; give 1 or more, or infeed::autotune");
  }
}

}  // namespace
}  // namespace infeed::test
