#pragma once

namespace infeed::detail {

/// Returns where a thread of this process waits now, by the system call that it is in: "lock",
/// "sleep", "file", "network", "other"; "" when it runs, or when the system doesn't say
/// (/proc/self/task/ID/syscall; a look takes 8 us).
const char* where_thread_waits(int thread);

}  // namespace infeed::detail
