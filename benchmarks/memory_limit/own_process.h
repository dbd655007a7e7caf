#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace infeed::memory_limit {

/// Returns what `run` does, in a process of its own, so that no case inherits another one's pools, arenas
/// or peaks. Throws std::runtime_error with what it threw, or when it takes longer than that.
std::string in_own_process(const std::function<std::string()>& run, std::chrono::seconds time_max);

}  // namespace infeed::memory_limit
