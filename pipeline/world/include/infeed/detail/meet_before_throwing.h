#pragma once

#include <string_view>

#include <infeed/communicator.h>

namespace infeed::detail {

/// Waits until all ranks know why they will throw. A rank that throws leaves the job, and one that
/// still waits for the others' values would name that.
inline void meet_before_throwing(Communicator& communicator, std::string_view purpose) noexcept {
  try {
    barrier(communicator, purpose);
  } catch (...) {
    // The reason that all know is the one to report.
  }
}

}  // namespace infeed::detail
