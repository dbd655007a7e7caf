#include "infeed/pipeline/testing.h"

#include <fmt/format.h>

namespace infeed::testing::detail {

void throw_difference(std::uint64_t resumed_at, std::uint64_t position, const std::string& got,
                      const std::string& expected) {
  throw Error(
      ErrorCode::failed_precondition,
      fmt::format("resumed at element {}, element {} differs: found {}, expected {}; look for a "
                  "function whose result depends on more than its element (a counter, a clock, a "
                  "generator of its own: take an infeed::Rng& instead), or for ordered = false",
                  resumed_at, position, got, expected));
}

}  // namespace infeed::testing::detail
