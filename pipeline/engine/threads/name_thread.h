#pragma once

#include <string>

namespace infeed::detail {

/// Names the calling thread, for debuggers and profilers (15 characters are kept).
void name_thread(const std::string& name);

}  // namespace infeed::detail
