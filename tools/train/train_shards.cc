#include "train/train_shards.h"

#include <filesystem>
#include <fmt/format.h>

#include "convert/convert.h"
#include "convert/inputs/open_input.h"

namespace infeed::tools {

TrainShards prepare_shards(const TrainShardsOptions& options) {
  const IdxPair source = find_idx_pair(options.data_folder, options.split);
  const std::filesystem::path folder(options.shard_folder);
  const auto input = open_idx_pair(source.images_file, source.labels_file);
  ConvertOptions conversion{.prefix = (folder / std::string(to_string(options.split))).string(),
                            .shard_count = options.shard_count,
                            .compression = options.compression,
                            .existing = ExistingDataset::replace_unless_same,
                            // The shards can be made again at any time.
                            .durability = Durability::leave_to_system,
                            .threads = options.threads,
                            .stop = options.stop};
  conversion.on_progress = [&](const ConvertProgress& progress) {
    if (!options.on_progress || progress.total == 0) return;
    options.on_progress(static_cast<double>(progress.done) / static_cast<double>(progress.total));
  };
  const ConvertResult converted = convert(*input, conversion);
  return {.files = converted.files,
          .bytes = converted.manifest.bytes(),
          .examples = converted.manifest.examples(),
          .seconds = converted.seconds,
          .reused = converted.was_complete};
}

Error damaged_shard(const Error& error, const std::string& folder) {
  Error with_advice(
      error.code(),
      fmt::format("{}; remove the folder {} and run this again to make the shards anew",
                  error.message(), folder));
  with_advice.at_file(error.file());
  if (error.offset()) with_advice.at_offset(*error.offset());
  if (error.record()) with_advice.at_record(*error.record());
  return with_advice;
}

}  // namespace infeed::tools
