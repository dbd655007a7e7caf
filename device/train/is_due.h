#pragma once

#include <cstdint>

#include <infeed/device/callbacks.h>

namespace infeed::detail {

/// Whether a multiple of `every` falls into the steps of this execution; never with 0.
inline bool is_due(const StepLogs& logs, std::int64_t every) {
  return every > 0 && logs.step / every > (logs.step - logs.steps) / every;
}

}  // namespace infeed::detail
