#include "infeed/pipeline/options.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include <infeed/error.h>

namespace infeed::detail {

int checked_parallelism(std::string_view stage, Count parallelism) {
  if (parallelism < 1 && parallelism != autotune) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: parallelism is {}; give 1 or more, or infeed::autotune", stage,
                            parallelism.value()));
  }
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(parallelism.value(), kMost));
}

}  // namespace infeed::detail
