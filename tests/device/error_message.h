#pragma once

#include <string>

#include <infeed/error.h>

namespace infeed {

/// Returns the message of the Error that `call` throws, or "accepted".
template <class F>
std::string error_message(const F& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.message();
  }
  return "accepted";
}

}  // namespace infeed
