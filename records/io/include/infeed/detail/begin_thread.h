#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace infeed::detail {

/// Names the calling thread for debuggers and profilers (15 characters are kept) and passes the
/// name to `tell`, if given. Every thread of the library calls it first.
void begin_thread(const std::string& name, const std::function<void(std::string_view)>& tell);

}  // namespace infeed::detail
