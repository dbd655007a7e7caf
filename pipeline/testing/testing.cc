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

void throw_other_seeds(std::uint64_t resumed_at, std::uint64_t position, const std::string& got,
                       const std::string& taken) {
  throw Error(
      ErrorCode::failed_precondition,
      fmt::format(
          "resumed at element {}, the run goes on with another stream: its element {} is "
          "{}, but {} was taken before the checkpoint, which lacks a seed that a stage of "
          "an inner dataset had drawn from by then; look for a stage of your own that keeps "
          "elements from one iteration to the next, and give those that draw a seed",
          resumed_at, position, got, taken));
}

}  // namespace infeed::testing::detail
