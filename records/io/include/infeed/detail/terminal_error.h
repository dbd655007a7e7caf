#pragma once

#include <memory>

#include <infeed/error.h>

namespace infeed::detail {

/// Returns the exception in flight as the error that ends a whole run. Called in a catch block.
std::shared_ptr<const Error> terminal_error();

}  // namespace infeed::detail
