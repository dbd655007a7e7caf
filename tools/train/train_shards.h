#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/compression.h>

#include "convert/inputs/fashion_mnist.h"

/// Why: the main job needs its shards once, not each time. While the manifest beside them matches
/// the images and the shards, nothing is converted again (convert/convert.h).
namespace infeed::tools {

struct TrainShardsOptions {
  std::string data_folder;   ///< IDX files
  std::string shard_folder;  ///< made if it isn't there
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
  double seconds = 0;  ///< that converting took
  bool reused = false;
};

/// Throws what find_idx_pair(), open_idx_pair() and convert() do.
TrainShards prepare_shards(const TrainShardsOptions& options);

/// `error`, found in a shard below `folder`, and what to do: they can be made again.
Error damaged_shard(const Error& error, const std::string& folder);

}  // namespace infeed::tools
