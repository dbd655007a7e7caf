#pragma once

#include <infeed/error.h>

#include "matchers.h"

namespace infeed {

/// Returns the Error that `function` throws; fails the test if it throws none.
template <class F>
Error error_of(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::internal, "nothing was thrown");
}

}  // namespace infeed
