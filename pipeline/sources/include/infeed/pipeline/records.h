#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/record_reader.h>

namespace infeed {

/// Says whether the record counts in the manifest that infeed convert wrote beside the shards are
/// used.
enum class ManifestUse {
  check,
  ignore,  ///< for shards that were changed since on purpose
};

/// The options of one file (record_reader.h), and how many threads decode it.
struct RecordsOptions {
  Compression compression = Compression::automatic;
  Verify verify = Verify::everything;
  DamagePolicy damage = DamagePolicy::fail;
  /// Called by the thread that pulls. Inside a parallel interleave several threads may call it at
  /// once.
  std::function<void(const DamagedRange&)> on_damage = {};
  Count block_bytes = RecordReaderOptions().block_bytes;
  Count record_bytes_max = RecordReaderOptions().record_bytes_max;
  /// Number of threads that decode ahead inside one file, in the same order; with 1 the pulling
  /// thread decodes. autotune begins with as many as there are cores, and the tuner judges the
  /// effect. parallel_record_reader.h says which files can be shared among threads.
  Count parallelism = 1;
  /// The most decoded bytes that wait to be taken, for all these threads together, per open file.
  /// They count in the memory account as queues do. autotune: 2 MiB for each working thread, so it
  /// changes with their number.
  Count read_ahead_bytes = autotune;
  /// Uses the records of uncompressed files on a disk where they lie in the page cache, without
  /// copying them first. That pays for records that wait before they are used, and for long ones:
  /// images of 784 bytes behind a shuffle of 10,000 become batches 1.6 times as quickly, and images
  /// of 112 KiB too. A stage that fills rows right behind the source (parse_batch, parse_columns,
  /// batch_into; a repeat may come between) copies records below 64 KiB all the same, since they
  /// are then still in the core's cache. So do the threads of a `parallelism` of 2 and more;
  /// autotune takes none for files that are mapped. The files stay mapped while the dataset lives,
  /// from which later passes gain (the first pass, and files larger than memory, gain nothing).
  /// Values, order, errors and checkpoints are the same. Mapped pages belong to the page cache: the
  /// process seems larger by them. The memory limit counts only records that wait in a stage.
  ///
  /// Only for files that nobody shortens or rewrites in place: that ends the process (SIGBUS),
  /// while files that are read give an error. Replacing them by a rename is safe.
  bool map_files = false;
  UrlOptions url = {};  ///< for files named by URLs
  ManifestUse manifest = ManifestUse::check;
  StageName name = {};  ///< as in StageOptions
};

/// Reads the records of TFRecord shards, one file after the other, in the order of their names. It
/// is the usual first line of a pipeline.
///
///     infeed::records("data/train-*.tfrecord") | infeed::parse<Sample>(schema)
///
/// This reads several files at once, each in its own thread:
///
///     infeed::files("data/train-*.tfrecord")
///         | infeed::interleave([](const std::string& file) { return infeed::records(file); },
///                              {.cycle_length = 16, .parallelism = infeed::autotune})
///
/// {.parallelism = infeed::autotune} reads one large file on as many cores as it needs. Records,
/// order, errors and checkpoints are the same with any number of threads.
///
/// Patterns are those of infeed::match_files. They are looked up when the source is described, and a
/// set from which a shard is missing, or that has two numberings, is an error then
/// (records/whole_set.h); a list of names reads a part of a set on purpose.
///
/// A file that was cut between two records looks complete. If `infeed convert` wrote the shards,
/// its manifest beside them has the number of records of each, and the count is checked at each
/// file's end, also of a single shard, as interleave reads them. If the manifest lists all files,
/// cardinality() is known, but only with DamagePolicy::fail: the other policies may lose records
/// without an error, and those missing by the manifest count as dropped. Without a manifest nothing
/// notices such a loss.
///
/// Errors:
/// | error                                            | when, and how                            |
/// |--------------------------------------------------|------------------------------------------|
/// | a pattern that nothing matches (not_found)       | thrown when the source is described; a   |
/// |                                                  | name that exists is taken as it is       |
/// | a set of the pattern isn't whole (data_loss,     | thrown when the source is described      |
/// | failed_precondition)                             |                                          |
/// | damage (data_loss)                               | an element's: the rest of the file is    |
/// |                                                  | dropped, the next file follows           |
/// | a file that is gone or can't be read when its    | an element's: one for the file, however  |
/// | turn comes (not_found, permission_denied, ...)   | many follow; the next file follows       |
/// | another number of records than the manifest says | an element's, after the file's last      |
/// | (data_loss)                                      | record; the next file follows            |
/// | a manifest that is damaged (data_loss)           | thrown when the source is described      |
/// | an exception of on_damage                        | an element's; the file goes on           |
///
/// So no error is terminal: one missing shard among a thousand doesn't end a run. (tf.data also
/// goes on after a damaged file, but repeats the error of a missing one for ever.) Error::lost()
/// says how many records were lost with an error, if an index knows (records/lost_records.h), and
/// otherwise how many bytes. A program that may lose only so many uses skip_errors. To lose only the
/// damaged records: {.damage = DamagePolicy::skip_and_resynchronise}. StageStatistics::count() of
/// "dropped_records" gives the records that no element and no error stands for, and of
/// "dropped_bytes" the bytes given up, damaged ones included (decompressed ones of a compressed
/// file, where their number is known).
///
/// Elements share the block that they were read in (record.h says what that means if only a few are
/// kept). Skipping reads lengths but no payloads, and jumps over files that were counted in an
/// earlier pass. After a run that saw errors it looks at everything again.
Dataset<Record> records(const std::string& pattern, RecordsOptions options = {});
/// Reads a list of names, in its order. The files need not exist yet. To make a list from several
/// patterns: infeed::match_files({"a-*", "b-*"}).
///
///     infeed::records({"data/clean.tfrecord", "data/noisy.tfrecord"})
Dataset<Record> records(std::vector<std::string> files, RecordsOptions options = {});
/// Resolves an ambiguity: two names in braces could also be a std::string of two pointers.
Dataset<Record> records(std::initializer_list<std::string> files, RecordsOptions options = {});

}  // namespace infeed
