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

/// Whether the manifest that infeed convert wrote beside shards is asked how many records each has.
enum class ManifestUse {
  check,
  ignore,  ///< as if there were none: for shards that were changed since on purpose
};

/// The options are those of one file (record_reader.h), and how many threads decode it.
struct RecordsOptions {
  Compression compression = Compression::automatic;
  Verify verify = Verify::everything;
  DamagePolicy damage = DamagePolicy::fail;
  /// Whatever thread pulls calls it; inside a parallel interleave several may do so at once.
  std::function<void(const DamagedRange&)> on_damage = {};
  Count block_bytes = RecordReaderOptions().block_bytes;
  Count record_bytes_max = RecordReaderOptions().record_bytes_max;
  /// So many threads decode ahead inside one file, in the same order; with 1 the thread that pulls
  /// decodes. autotune begins with as many as there are cores, and the tuner sees what comes of them.
  /// parallel_record_reader.h says which files can be shared among threads.
  Count parallelism = 1;
  /// How much these threads together may have decoded that is not yet taken, per open file; it is
  /// counted as queues are. autotune: 2 MiB for each thread that works, so that it comes and goes with
  /// them.
  Count read_ahead_bytes = autotune;
  /// Records of 64 KiB and more of uncompressed files on a disk, whose rows a stage behind this fills
  /// (parse_batch, parse_columns, batch_into; a repeat may stand between), are used where they lie in
  /// the page cache instead of being copied first. The files stay mapped while the dataset lives,
  /// which is what later passes gain by: images of 112 KiB become batches 1.6 times as quickly. (The
  /// first pass, and files larger than the memory, gain nothing.) Values, order, errors and
  /// checkpoints are the same. Mapped pages are the page cache's: the process seems larger by them,
  /// the memory limit leaves them out.
  /// Only for files that nobody shortens or rewrites in place: that ends the process (SIGBUS), while
  /// files that are read give an error. To replace them by a rename is safe.
  bool map_files = false;
  UrlOptions url = {};  ///< where files are named by URLs
  ManifestUse manifest = ManifestUse::check;
  StageName name = {};  ///< as in StageOptions
};

/// Why: this gives the records of TFRecord shards, one file after the other, in the order of their
/// names. It is the usual first line of a pipeline.
///
///     infeed::records("data/train-*.tfrecord") | infeed::parse<Sample>(schema)
///
/// This reads several files at once, each in a thread of its own:
///
///     infeed::files("data/train-*.tfrecord")
///         | infeed::interleave([](const std::string& file) { return infeed::records(file); },
///                              {.cycle_length = 16, .parallelism = infeed::autotune})
///
/// {.parallelism = infeed::autotune} reads one large file on as many cores as it needs. Records,
/// order, errors and checkpoints are the same as without.
///
/// Patterns are those of infeed::match_files, looked up when the source is described.
///
/// A file that was cut between two records looks whole. Where `infeed convert` wrote the shards,
/// its manifest beside them says how many records each has, and the count is checked at each file's
/// end; where it lists all files, cardinality() is known (with DamagePolicy::fail: the others may
/// lose records that are no errors; what is missing by the manifest is counted as dropped). That is
/// the default, since it costs a look for one file a set of shards, and is the only thing that
/// notices such a loss. A single shard of several, as interleave reads them, is checked, too, but
/// its cardinality stays unknown.
///
/// Errors:
/// | what                                             | when, and how                            |
/// |--------------------------------------------------|------------------------------------------|
/// | a pattern that nothing matches (not_found)       | thrown when the source is described; a   |
/// |                                                  | name that exists is taken as it is       |
/// | damage (data_loss)                               | an element's: the rest of the file is    |
/// |                                                  | dropped, the next file follows           |
/// | a file that is gone or can't be read when its    | an element's: one for the file, however  |
/// | turn comes (not_found, permission_denied, ...)   | many follow; the next file follows       |
/// | another number of records than the manifest says | an element's, behind the file's last     |
/// | (data_loss)                                      | record; the next file follows            |
/// | a manifest that is damaged (data_loss)           | thrown when the source is described      |
/// | what on_damage throws                            | an element's; the file goes on           |
///
/// So none is terminal: one shard among a thousand that is missing doesn't end a run. (tf.data goes
/// on behind a damaged file, too, but repeats the error of a missing one for ever.) Error::lost()
/// and the statistics say how many records went with the one that an error stands for, where an
/// index knows (records/lost_records.h), and else how many bytes; a program that may lose only so
/// many asks skip_errors. To lose only what is damaged:
/// {.damage = DamagePolicy::skip_and_resynchronise}.
///
/// Elements share the block that they were read in (record.h says what that means for those who
/// keep few of many). Skipping reads lengths but no payloads, and jumps over files that were
/// counted in an earlier pass; after a run that saw errors it looks at everything again.
Dataset<Record> records(const std::string& pattern, RecordsOptions options = {});
/// A list of names, in its order; none of them needs to exist yet. One made from several patterns:
/// infeed::match_files({"a-*", "b-*"}).
///
///     infeed::records({"data/clean.tfrecord", "data/noisy.tfrecord"})
Dataset<Record> records(std::vector<std::string> files, RecordsOptions options = {});
/// Without it, two names in braces could be a std::string of two pointers, too.
Dataset<Record> records(std::initializer_list<std::string> files, RecordsOptions options = {});

}  // namespace infeed
