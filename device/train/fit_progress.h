#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/device/callbacks.h>

// The progress of a fit(): all that a checkpoint holds of it besides tensors.

namespace infeed::detail {

struct FitProgress {
  std::int64_t epoch = 0;  ///< number of the running epoch, from 0
  std::int64_t step = 0;   ///< batches of all epochs
  std::int64_t step_of_epoch = 0;
  Metrics training = {};           ///< sums of the running epoch
  std::int64_t group_batches = 0;  ///< batches whose gradients wait for an update
  std::int64_t group_divisor = 1;  ///< divisor of their losses
  std::int64_t group_examples = 0;
  double rate_factor = 1;
  std::uint64_t order_hash = 0;  ///< hash of the iterations before this one, or of all
                                 ///< steps where ranks make their own rows
  std::string stop_reason = {};  ///< given by a callback
  std::vector<EpochLogs> epochs = {};

  std::string to_text() const;
  /// Throws data_loss.
  static FitProgress from_text(std::string_view text);
};

}  // namespace infeed::detail
