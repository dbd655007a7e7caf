#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/convert/example_input.h>
#include <infeed/records/compression.h>
#include <infeed/records/files.h>
#include <infeed/records/record_writer.h>

#include "convert/manifest.h"

/// Why: writes an input as TFRecord shards of tf.train.Example, several at once, so that a week of
/// conversion can be trusted. After a kill at any moment, the same call goes on where it was. The
/// result is the same to the byte, at any number of threads.
///
///     auto input = open_idx_pair(images, labels);
///     ConvertResult r = convert(*input, {.prefix = "data/train", .shard_count = 16});
///
/// Position p of n shards' common order (the input's, or shuffled) goes into shard i when size * i
/// / n <= p < size * (i + 1) / n. The files, in the order in which they are made (for the prefix
/// data/train):
///   .train.plan.json, .train.journal   made first, removed last (conversion_plan.h, journal.h)
///   train-00000-of-00016.tfrecord      renamed into place when whole; .index or .points beside it
///   a journal line                     commits the shard
///   train.manifest.json                when all shards are committed (manifest.h)
/// Several processes can share the work: each makes its share of the shards (`share`), in any order
/// and at any time, and one more call writes the manifest (`finish_only`). part_journals.h has the
/// files.
///
/// If there is a manifest of the same plan, but a shard is missing, has another size, or (on
/// request) another content, only that shard is made anew, to the same bytes.
namespace infeed::tools {

/// The treatment of an existing dataset with the same prefix. An unfinished one of the same plan is
/// always continued. A finished one stays until the one that replaces it is whole (replacement.h).
enum class ExistingDataset {
  refuse,               ///< already_exists, unless it is the same one, which needs no work
  replace,              ///< makes it anew
  replace_unless_same,  ///< makes another one anew; the same one needs no work
};

/// Part of a split by hash (example_order.h).
enum class SplitPart { all, train, validation };

struct ConvertProgress {
  std::uint64_t done = 0;   ///< examples of the input
  std::uint64_t total = 0;  ///< without those of shards that existed before
};

/// The caller's words for options that messages advise: the command's, unless a caller sets others.
struct ConvertWords {
  std::string quarantine_max = "--quarantine-max";
  std::string quarantine_max_n = "--quarantine-max N";
  std::string replace = "--overwrite";
  std::string name = "--name";
  std::string split_column = "--split-by";
};

struct ConvertOptions {
  std::string prefix;  ///< folder (created if missing) and start of the names
  /// 0: about 128 MiB a shard, at least one and at most 4096. If a conversion of the same plan was
  /// begun, its number is taken.
  std::uint32_t shard_count = 16;
  /// Used instead of the count: about so many bytes a shard before compression; 0 is off.
  std::uint64_t shard_bytes = 0;
  Compression compression = Compression::none;  ///< none, gzip or lz4
  std::optional<int> compression_level = {};    ///< RecordWriterOptions::compression_level
  ExistingDataset existing = ExistingDataset::refuse;
  std::optional<std::uint64_t> seed = {};  ///< seed of the shuffled order; none: the input's order
  SplitPart part = SplitPart::all;
  double validation_share = 0;
  std::string split_column = {};  ///< column whose value is hashed; empty: the example's name is
  /// Most bad examples that are left out and listed in the manifest; one more is an error.
  std::uint64_t quarantine_max = 0;
  /// Also reads the content of an existing dataset, to find damaged shards of the right size.
  bool check_content = false;
  Durability durability = Durability::synced;
  int threads = 0;  ///< 0: usable_cores(), twice as many when shards are synced
  /// "s3://bucket/folder", or http(s) for a server that takes PUT: the shards and the manifest go there
  /// (dataset_store.h), and `prefix` is the place of plan, journal and shards at work. Empty: they
  /// stay there. Excludes ExistingDataset::replace.
  std::string store_url = {};
  /// Makes only the shards k with k % count == index, and no manifest.
  std::optional<Shard> share = {};
  /// Makes no shard: checks that all are made, of this plan and whole (check_content: reads them),
  /// and writes the manifest.
  bool finish_only = false;
  ConvertWords words = {};
  std::stop_token stop = {};
  /// Called from the calling thread, about ten times a second.
  std::function<void(const ConvertProgress&)> on_progress = {};
};

/// A shard that differs from the manifest.
struct WrongShard {
  std::uint32_t shard = 0;
  std::string what;  ///< "'train-00003-of-00016.tfrecord' is missing"
};

struct ConvertResult {
  std::vector<std::string> files;  ///< the shards; with `share` those of the share
  Manifest manifest;               ///< with `share` its shards only; no such file is written
  std::string manifest_file;
  double seconds = 0;
  std::uint32_t shards_found = 0;   ///< finished by an earlier call
  bool was_complete = false;        ///< no work was needed
  std::optional<Shard> share = {};  ///< ConvertOptions::share, unless the dataset was complete
  /// Shards of a complete dataset that were missing or damaged and were made anew.
  std::vector<WrongShard> rebuilt = {};
};

/// Throws RecordWriter's errors and the input's; already_exists, before anything is written, if
/// shards of another plan exist; failed_precondition for an unfinished conversion with another plan
/// (the message lists the differences), while another process converts into the same prefix, or if
/// `finish_only` finds shards that are missing, damaged or of another plan.
/// After an error or a stop, finished shards stay and the same call goes on. A stop is Error
/// (cancelled) with the number of finished shards.
ConvertResult convert(const ExampleInput& input, const ConvertOptions& options);

/// The expected work of convert(), from looking and from encoding some examples; nothing is
/// written.
struct ConvertEstimate {
  std::uint64_t examples = 0;  ///< examples of the input; a split takes its share of them
  std::uint64_t bytes = 0;     ///< bytes of all shards, before compression
  double seconds = 0;          ///< time of reading and encoding
  std::vector<std::string> files;
  std::uint32_t shards_found = 0;
  bool is_complete = false;
  std::vector<WrongShard> wrong = {};                ///< shards of a complete dataset to be made
                                                     ///< anew
  ColumnStatistics statistics = ColumnStatistics();  ///< statistics of the encoded examples
  std::uint64_t bad_examples = 0;                    ///< those that convert() would refuse
  std::string first_bad = {};
};

/// Throws the errors that convert() would throw before it writes anything.
ConvertEstimate estimate_conversion(const ExampleInput& input, const ConvertOptions& options);

}  // namespace infeed::tools
