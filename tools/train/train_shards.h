#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/compression.h>

#include "convert/inputs/fashion_mnist.h"

/// Why: the main job converts its shards only once. While the manifest beside them matches the
/// images and the shards, nothing is converted again (convert/convert.h).
namespace infeed::tools {

struct TrainShardsOptions {
  std::string data_folder;   ///< IDX files
  std::string shard_folder;  ///< created if missing
  Split split = Split::train;
  std::uint32_t shard_count = 16;
  Compression compression = Compression::gzip;
  int threads = 0;
  std::stop_token stop = {};
  std::function<void(double share)> on_progress = {};
};

struct TrainShards {
  std::vector<std::string> files;
  std::uint64_t bytes = 0;
  std::uint64_t examples = 0;
  double seconds = 0;  ///< time of converting
  bool reused = false;
};

/// Throws the errors of find_idx_pair(), open_idx_pair() and convert().
TrainShards prepare_shards(const TrainShardsOptions& options);

/// Returns `error`, found in a shard below `folder`, with advice: the shards can be made again.
Error damaged_shard(const Error& error, const std::string& folder);

}  // namespace infeed::tools
