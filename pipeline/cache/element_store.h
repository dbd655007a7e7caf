#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/erased_codec.h>
#include <infeed/pipeline/element_codec.h>
#include <infeed/records/file.h>
#include <infeed/records/line_journal.h>
#include <infeed/records/record_reader.h>
#include <infeed/records/record_writer.h>

// Elements in a folder: what cache({.path}) and snapshot write and read.
//
//     elements.journal               says what the elements are, which shards are whole, the errors
//
//     data-1f3a...-00000.tfrecord    one record an element, in order
//
//     lock                           held (flock) by the one who writes
//
// A line of the journal ends with its own CRC. A shard gets its name only when it is whole, and
// counts only once the journal names it; so whatever is killed when, what the journal says is there
// is there, and writing goes on behind it. Lines behind the last "shard" or "end" don't count.
namespace infeed::detail {

struct StoredShard {
  std::string file;  ///< in the folder
  std::uint64_t values;
  std::uint64_t bytes;
};

struct StoredError {
  std::uint64_t position;  ///< among all elements
  ErrorPointer error;
};

/// That elements were made of what inner datasets drew: by the seed in the line of the checkpoint's
/// form that belongs to a stage before ("flat_map(seed=7)").
struct StoredDraw {
  /// The index of the stage's line among those of all stages before; kOutermost: the store lies in an
  /// inner dataset itself, and the line is a number, the seed of the outermost flat_map.
  static constexpr std::uint64_t kOutermost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t stage;
  std::string line;

  bool operator==(const StoredDraw&) const = default;
};

/// What the journal says.
struct StoreContent {
  /// What the elements are and where they come from; equal for those that are the same.
  std::vector<std::string> identity;
  std::vector<StoredShard> shards;
  std::vector<StoredError> errors;
  /// Errors that were seen while the elements were made, those that another stage left out
  /// included. Nothing where the journal doesn't say: it may hide some.
  std::optional<std::uint64_t> errors_on_the_way;
  std::vector<StoredDraw> draws;  ///< in what was cut, too: it is made again by the same
  bool complete = false;

  std::uint64_t values() const;
  /// Elements, errors included.
  std::uint64_t slots() const { return values() + errors.size(); }
  /// Forgets everything from shard `count` on.
  void cut(std::size_t count);
  /// Shards before the first one that is missing or has another size than the journal says.
  std::size_t intact_shards(const std::string& folder) const;
};

/// Nothing when there is no journal. Throws failed_precondition when it is none of ours.
std::optional<StoreContent> read_journal(const std::string& folder);

/// Goes through stored elements in order.
class StoreReader {
 public:
  StoreReader(std::string folder, StoreContent content, ErasedCodec codec);

  /// Appends 1..want elements to `out`, which is empty, errors included; 0: the end. Throws
  /// Error(data_loss, not_found, ...) when they can't be read; position() is then that of the first
  /// one that is lost.
  std::size_t read(Chunk& out, std::size_t want);
  std::uint64_t skip(std::uint64_t count);

  std::uint64_t position() const { return position_; }
  const StoreContent& content() const { return content_; }
  /// Index of the shard that position() lies in.
  std::size_t shard() const { return shard_; }
  /// Passes over what is left of the shard that can't be read.
  void leave_shard();

 private:
  void read_values(Chunk& out, std::size_t want);
  std::uint64_t values_until_error() const;

  const std::string folder_;
  const StoreContent content_;
  const ErasedCodec codec_;
  std::uint64_t position_ = 0;
  std::size_t next_error_ = 0;
  std::size_t shard_ = 0;
  std::uint64_t read_in_shard_ = 0;  ///< values of it that are behind us
  std::optional<RecordReader> reader_;
  std::vector<Record> records_;
};

/// The right to write into a folder; gone with the object (or the process).
class StoreLock {
 public:
  /// Nothing when somebody else has it. Makes the folder.
  static std::optional<StoreLock> try_lock(const std::string& folder);

 private:
  explicit StoreLock(File file) : file_(std::move(file)) {}
  File file_;
};

struct StoreWriterOptions {
  std::uint64_t shard_bytes;
  Compression compression;
  Durability durability;
  /// How many errors the stages before have seen by now; asked when a line of the journal needs it.
  std::function<std::uint64_t()> errors_seen;
  /// All that were made by now; asked then, too.
  std::function<std::vector<StoredDraw>()> draws;
};

/// Writes elements behind those that are there. Whoever has one has the lock.
class StoreWriter {
 public:
  /// Makes the journal say `content` (not complete) and removes files that it doesn't name.
  StoreWriter(std::string folder, StoreContent content, ErasedCodec codec,
              const StoreWriterOptions& options);
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  void append(const Chunk& chunk);
  /// Nothing more will come.
  void finish();
  /// Elements so far, errors included.
  std::uint64_t slots() const { return slots_; }

 private:
  void append_value(const void* element);
  void close_shard();
  /// With the lines that wait for it.
  void append_to_journal(std::string line);

  const std::string folder_;
  const ErasedCodec codec_;
  const StoreWriterOptions options_;
  const std::string run_;  ///< tells the shards of different writers apart
  LineJournal journal_;
  std::size_t shard_count_;
  std::uint64_t slots_;
  const std::uint64_t errors_before_;  ///< of those who wrote what was there
  std::optional<RecordWriter> writer_;
  std::string shard_file_;
  std::vector<std::string> pending_lines_;  ///< errors that the journal doesn't have yet
  std::vector<StoredDraw> draws_;           ///< that it has
  std::string buffer_;
};

}  // namespace infeed::detail
