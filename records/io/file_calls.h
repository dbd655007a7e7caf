#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

#include "infeed/records/file.h"

namespace infeed::detail {

/// Calls write(2), again after a signal. Returns the bytes written, or -1 with errno.
///
/// A write beyond the limit of a file's size (ulimit -f) is EFBIG. The kernel sends the writing
/// thread SIGXFSZ besides, which ends the process by default. How a process handles signals is not
/// a library's business, so the signal is blocked in this thread during the call only, and taken
/// away if it came. Costs two system calls (0.3 us), where a write of 64 KiB takes 10 us or more.
ssize_t write_once(int descriptor, std::string_view bytes) noexcept;

/// Throws invalid_argument for a URL: the system would take its scheme for a folder of that name. `what` is
/// "file" or "folder".
void require_no_url(const std::string& name, std::string_view what);

/// Makes reads and writes of a file wait again whose open mustn't wait (O_NONBLOCK). Throws Error.
void let_calls_wait(const File& file);

}  // namespace infeed::detail
