#pragma once

#include <cstdint>

namespace infeed::detail {

/// How many times fork() led to this process: it differs between a parent and its child. A look
/// costs a load; getpid() is a system call.
std::uint64_t forks_of_this_process();

}  // namespace infeed::detail
