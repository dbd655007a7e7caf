#pragma once

#include <string>
#include <string_view>

#include <infeed/error.h>

namespace infeed::detail {

/// "cannot be opened: No such file or directory; ..." with the code that fits `error_number`;
/// `action` completes "cannot be ...", `advice` says what to do.
Error system_error(std::string_view action, const std::string& file, int error_number,
                   std::string_view advice);

}  // namespace infeed::detail
