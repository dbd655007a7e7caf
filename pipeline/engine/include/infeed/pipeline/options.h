#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <infeed/count.h>

namespace infeed {

/// "You choose": accepted as any number of threads or depth. It begins with a fixed choice that
/// each option documents; from there the tuner goes on (tuning.h).
inline constexpr int autotune = -1;

/// The stage's name in statistics, in errors and in the watchdog's report: "map[1] 'augment'".
/// Every stage takes it as its option `name`: 1 to 64 printable ASCII characters (else
/// invalid_argument). The name doesn't affect the elements, so checkpoints and caches of a pipeline
/// stay valid when a name is given, changed or taken away. Without a name a stage is called by its
/// kind, with a number if the pipeline has several of them: "map[1]" is the map nearest to the
/// sources.
using StageName = std::optional<std::string>;

/// The options of stages that have no others.
struct StageOptions {
  StageName name = {};
};

namespace detail {

/// Returns the value of an option `parallelism`: 1 or more, or autotune. Throws
/// Error(invalid_argument).
int checked_parallelism(std::string_view stage, Count parallelism);

}  // namespace detail

}  // namespace infeed
