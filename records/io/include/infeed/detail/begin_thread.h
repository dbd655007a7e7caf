#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace infeed::detail {

/// The first that a thread of the library does: it takes a name, for debuggers and profilers (15
/// characters are kept), and tells whoever wants to know.
void begin_thread(const std::string& name, const std::function<void(std::string_view)>& tell);

}  // namespace infeed::detail
