#pragma once

#include <cstdint>

namespace infeed::detail {

/// Returns how many calls of fork() led to this process. The number differs between a parent and
/// its child. A call costs a load, while getpid() is a system call.
std::uint64_t forks_of_this_process();

}  // namespace infeed::detail
