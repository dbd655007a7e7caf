#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>

namespace infeed {

struct FilesOptions {
  /// If true, the order is shuffled by the seeds.
  bool shuffle = false;
  /// The seed of the shuffle. If neither seed is given, a random one is drawn when the source is
  /// described.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// TensorFlow's tf.random.set_seed, for orders that must equal another program's, as in
  /// ShuffleOptions.
  std::optional<std::uint64_t> global_seed = std::nullopt;
  /// If true, a shuffle gives each pass another order.
  bool reshuffle_each_iteration = true;
  StageName name = {};  ///< as in StageOptions
};

/// Gives the names of the files that match a pattern, in the order of their bytes, or shuffled as
/// tf.data.Dataset.list_files does.
///
///     infeed::files("data/train-*.tfrecord", {.shuffle = true, .seed = 42})
///         | infeed::interleave([](const std::string& file) { return infeed::records(file); },
///                              {.cycle_length = 16})
///
/// Patterns are those of infeed::match_files. The folder is searched when the source is described.
/// If nothing matches, it throws not_found with the names that are there instead. The name of an
/// existing file is taken literally, even if it looks like a pattern. Later no name is an error:
/// the stage that opens the file finds out whether it exists, and makes that an element's error
/// (records.h). A checkpoint is bound to the names of the files without their folders, and to their
/// content (checkpoint.h).
Dataset<std::string> files(const std::string& pattern, FilesOptions options = {});

/// Gives a list of names, in its order. The files need not exist yet.
///
///     infeed::files({"data/clean.tfrecord", "data/noisy.tfrecord"})
Dataset<std::string> files(std::vector<std::string> list, FilesOptions options = {});
Dataset<std::string> files(std::initializer_list<std::string> list, FilesOptions options = {});

}  // namespace infeed
