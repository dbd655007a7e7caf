#pragma once

#include <infeed/count.h>

namespace infeed {

/// "You choose": accepted wherever a number of threads or a depth is asked for. Until the tuner is
/// there it stands for a fixed choice that each option documents.
inline constexpr int autotune = -1;

namespace detail {

/// What an option `parallelism` says: 1 or more, or autotune. Throws Error(invalid_argument).
int checked_parallelism(std::string_view stage, Count parallelism);

}  // namespace detail

}  // namespace infeed
