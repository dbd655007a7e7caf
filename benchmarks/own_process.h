#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace infeed::benchmarks {

/// Returns the result of `run` in a separate process, so that no case inherits another one's pools,
/// arenas or peaks. Throws std::runtime_error with its error, or if it takes longer than
/// `time_max`.
std::string in_own_process(const std::function<std::string()>& run, std::chrono::seconds time_max);

}  // namespace infeed::benchmarks
