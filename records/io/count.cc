#include "infeed/count.h"

#include <fmt/format.h>

namespace infeed {

void Count::refuse(std::string_view stage, std::string_view option) const {
  if (stage.empty()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("a count is {}; give 0 or more", value_));
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: {} is {}; give 0 or more", stage, option, value_));
}

}  // namespace infeed
