#pragma once

#include <vector>

#include <infeed/communicator.h>

namespace infeed::tools {

/// The ranks that make the training's batches, if others than those that train (`infeed feed`).
struct FeedRanks {
  Communicator* job = nullptr;  ///< that of all ranks, owned by the caller; null: no others
  std::vector<int> ranks = {};
};

}  // namespace infeed::tools
