#pragma once

#include <memory>

#include <infeed/error.h>

namespace infeed::detail {

/// Returns the exception in flight as the error that ends a whole run. Called in a catch block, often
/// the last one of a thread, so it needs no memory where there is none.
std::shared_ptr<const Error> terminal_error() noexcept;

}  // namespace infeed::detail
