#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>

namespace infeed {

struct FilesOptions {
  /// Whether each pass has another order, drawn from the seeds.
  bool shuffle = false;
  /// The seed of a shuffle; without any of the seeds, a random one is drawn when the source is
  /// described.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// TensorFlow's tf.random.set_seed, for orders that must equal another program's, as in
  /// ShuffleOptions.
  std::optional<std::uint64_t> global_seed = std::nullopt;
  /// Whether a shuffle gives another order each pass, or the same.
  bool reshuffle_each_iteration = true;
  StageName name = {};  ///< as in StageOptions
};

/// Why: these are the names of the files that match a pattern, in the order of their bytes, or
/// shuffled as tf.data.Dataset.list_files does.
///
///     infeed::files("data/train-*.tfrecord", {.shuffle = true, .seed = 42})
///         | infeed::interleave([](const std::string& file) { return infeed::records(file); },
///                              {.cycle_length = 16})
///
/// Patterns are those of infeed::match_files. The folder is looked through when the source is
/// described, and a pattern that nothing matches is an Error there (not_found, with what lies there
/// instead). A name that exists is taken as it is, even when it looks like a pattern. No name is an
/// error later: whether its file is there is found out by the stage that opens it, and is an
/// element's error there (records.h). A checkpoint is bound to the names (without their folders)
/// and sizes of the files.
Dataset<std::string> files(const std::string& pattern, FilesOptions options = {});

/// A list of names, in its order, none of which needs to exist yet.
///
///     infeed::files({"data/clean.tfrecord", "data/noisy.tfrecord"})
Dataset<std::string> files(std::vector<std::string> list, FilesOptions options = {});
Dataset<std::string> files(std::initializer_list<std::string> list, FilesOptions options = {});

// Only the library reads what follows.
namespace detail {

/// `pattern` itself when a file has that name, else what it matches.
std::vector<std::string> find_files(const std::string& pattern);
/// "16 files, 47040192 bytes, crc32c=...": names without their folders, and sizes.
std::string files_fingerprint(const std::vector<std::string>& files);

}  // namespace detail

}  // namespace infeed
