#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/erased_codec.h>
#include <infeed/records/file.h>
#include <infeed/records/line_journal.h>
#include <infeed/records/record_writer.h>

#include "cache/store_journal.h"

namespace infeed::detail {

/// The right to write into a folder. The destructor (or the end of the process) gives it up.
class StoreLock {
 public:
  /// Returns nothing if somebody else has the lock. Makes the folder.
  static std::optional<StoreLock> try_lock(const std::string& folder);

 private:
  explicit StoreLock(File file) : file_(std::move(file)) {}
  File file_;
};

struct StoreWriterOptions {
  std::uint64_t shard_bytes;
  Compression compression;
  Durability durability;
  /// Returns how many errors the stages before have seen so far, at least as many as for the stored
  /// elements. Called when a line of the journal needs it.
  std::function<std::uint64_t()> errors_seen;
  /// Returns all draws so far. Called at the same times.
  std::function<std::vector<StoredDraw>()> draws;
};

/// Writes elements after the stored ones. The owner must have the lock.
class StoreWriter {
 public:
  /// Writes `content` (not complete) to the journal and removes files that it doesn't name.
  StoreWriter(std::string folder, StoreContent content, ErasedCodec codec,
              const StoreWriterOptions& options);
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  /// Returns false if the chunk's error is one that may pass. It isn't stored, and all before it is.
  [[nodiscard]] bool append(const Chunk& chunk);
  /// Says that another writer will go on here.
  void stop() { close_shard(); }
  /// Says that nothing more comes.
  void finish();
  /// Number of elements so far, errors included.
  std::uint64_t slots() const { return slots_; }

 private:
  void append_value(const void* element);
  void close_shard();
  /// Appends the pending lines and this one.
  void append_to_journal(std::string line);

  const std::string folder_;
  const ErasedCodec codec_;
  const StoreWriterOptions options_;
  const std::string run_;  ///< tells the shards of different writers apart
  LineJournal journal_;
  std::size_t shard_count_;
  std::uint64_t slots_;
  std::uint64_t errors_;  ///< among the elements
  std::optional<RecordWriter> writer_;
  std::string shard_file_;
  std::vector<std::string> pending_lines_;  ///< errors that aren't in the journal yet
  std::vector<StoredDraw> draws_;           ///< draws that are in the journal
  std::string buffer_;
};

}  // namespace infeed::detail
