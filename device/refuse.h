#pragma once

#include <fmt/format.h>
#include <utility>

#include <infeed/error.h>

namespace infeed::detail {

/// Throws invalid_argument for a caller's mistake, which the text explains.
template <class... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> text, Values&&... values) {
  throw Error(ErrorCode::invalid_argument, fmt::format(text, std::forward<Values>(values)...));
}

}  // namespace infeed::detail
