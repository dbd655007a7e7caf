#pragma once

namespace infeed {

/// "You choose": accepted wherever a number of threads or a depth is asked for. Until the tuner is
/// there it stands for a fixed choice that each option documents.
inline constexpr int autotune = -1;

}  // namespace infeed
