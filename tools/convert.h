#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/records/compression.h>
#include <infeed/records/record_writer.h>

#include "example_input.h"

/// Why: writes an input as TFRecord shards of tf.train.Example, several shards at once. Shard i of
/// n gets the examples [size * i / n, size * (i + 1) / n), so that reading the shards in the order
/// of their names gives the input's order; the bytes don't depend on the number of threads.
///
///     auto input = open_idx_pair(images, labels);
///     ConvertResult r = convert(*input, {.prefix = "data/train", .shard_count = 16});
namespace infeed::tools {

struct ConvertOptions {
  std::string prefix;  ///< folder (made if it isn't there) and start of the names
  std::uint32_t shard_count = 16;
  Compression compression = Compression::none;  ///< none or gzip; gzip names end in .tfrecord.gz
  ExistingFile existing = ExistingFile::refuse;
  int threads = 0;  ///< 0: usable_cores()
  std::stop_token stop = {};
  /// How many examples are written so far. Called from the calling thread, about ten times a
  /// second.
  std::function<void(std::uint64_t done)> on_progress = {};
};

struct ConvertResult {
  std::vector<std::string> files;
  std::uint64_t examples = 0;
  std::uint64_t bytes = 0;  ///< of all files
  double seconds = 0;
};

/// The names that convert() writes.
std::vector<std::string> shard_files(const ConvertOptions& options);

/// Throws RecordWriter's errors, and already_exists before anything is written when a shard is
/// there already. Shards that were finished before an error or a stop are whole and stay; no other
/// file does. A stop is Error (cancelled) that says how many are whole.
ConvertResult convert(const ExampleInput& input, const ConvertOptions& options);

}  // namespace infeed::tools
