#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <infeed/count.h>

namespace infeed {

/// "You choose": accepted wherever a number of threads or a depth is asked for. It begins with a
/// fixed choice that each option documents; from there the tuner goes on (tuning.h).
inline constexpr int autotune = -1;

/// What a stage is called in statistics, in errors and in the watchdog's report: "map[1] 'augment'".
/// Every stage takes one as its option `name`: 1 to 64 printable ASCII characters
/// (invalid_argument). It says nothing about the elements, so checkpoints and caches of a pipeline
/// stay valid when a name is given, changed or taken away. Without one a stage is called by its
/// kind, with a number where the pipeline has several: "map[1]" is the map next to the sources.
using StageName = std::optional<std::string>;

/// The options of stages that have no others.
struct StageOptions {
  StageName name = {};
};

namespace detail {

/// What an option `parallelism` says: 1 or more, or autotune. Throws Error(invalid_argument).
int checked_parallelism(std::string_view stage, Count parallelism);

}  // namespace detail

}  // namespace infeed
