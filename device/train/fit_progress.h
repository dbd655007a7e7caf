#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/device/callbacks.h>

// How far a fit() has come: what a checkpoint holds of it besides tensors.

namespace infeed::detail {

struct FitProgress {
  std::int64_t epoch = 0;  ///< that runs, from 0
  std::int64_t step = 0;   ///< batches of all epochs
  std::int64_t step_of_epoch = 0;
  Metrics training = {};           ///< of this epoch
  std::int64_t group_batches = 0;  ///< whose gradients wait for an update
  std::int64_t group_divisor = 1;  ///< what their losses were divided by
  std::int64_t group_examples = 0;
  double rate_factor = 1;
  std::uint64_t order_hash = 0;  ///< of the iterations before this one
  std::string stop_reason = {};  ///< a callback's
  std::vector<EpochLogs> epochs = {};

  std::string to_text() const;
  /// Error data_loss.
  static FitProgress from_text(std::string_view text);
};

}  // namespace infeed::detail
