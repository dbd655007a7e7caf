#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/records/line_journal.h>

// Elements in a folder, which cache({.path}) and snapshot write and read.
//
//     elements.journal               says what the elements are, which shards are whole, the errors
//
//     data-1f3a...-00000.tfrecord    one record an element, in order
//
//     lock                           held (flock) by the one who writes
//
// A line of the journal ends with its own CRC. A shard gets its name only when it is complete, and
// counts only once the journal names it. So whenever a writer is killed, everything in the journal
// exists, and writing can go on after it. Lines after the last "shard" or "end" don't count.

// Reads and writes the lines of a store's journal (line_journal.h). Fields are separated by tabs,
// and the last one is the line's CRC-32C:
//
//     infeed elements 1
//     is <what the elements are, a line each>
//     seen <errors of all stages before, until here>
//     drew <stage, or "outermost"> <its line in a checkpoint, with the seed>
//     error <position> <code> <stage> <file> <offset> <record> <message>
//     shard <file> <values> <bytes>
//     end <elements, errors included>
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

/// A seed by which inner datasets drew for the elements: the line, in the form of a checkpoint's,
/// of the stage that has the seed ("flat_map(seed=7)").
struct StoredDraw {
  /// The index of the stage's line among those of all stages before. kOutermost: the store itself
  /// lies in an inner dataset, and the line is a number, the seed of the outermost flat_map.
  static constexpr std::uint64_t kOutermost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t stage;
  std::string line;

  bool operator==(const StoredDraw&) const = default;
};

/// The content of a journal.
struct StoreContent {
  /// Lines that say what the elements are and where they come from; equal for equal elements.
  std::vector<std::string> identity;
  std::vector<StoredShard> shards;
  std::vector<StoredError> errors;
  /// Number of errors seen while the elements were made, including those that another stage left
  /// out. Empty if the journal doesn't say: then some may be hidden.
  std::optional<std::uint64_t> errors_on_the_way;
  std::vector<StoredDraw> draws;  ///< also of cut shards, which are made again by them
  bool complete = false;

  std::uint64_t values() const;
  /// Number of elements, errors included.
  std::uint64_t slots() const { return values() + errors.size(); }
  /// Forgets everything from shard `count` on.
  void cut(std::size_t count);
  /// Returns the number of shards before the first one that is missing or has another size than the
  /// journal says.
  std::size_t intact_shards(const std::string& folder) const;
};

/// Returns nothing if there is no journal. Throws failed_precondition if the file is another
/// program's.
std::optional<StoreContent> read_journal(const std::string& folder);

inline constexpr LineChecksum kJournalChecksum = LineChecksum::behind_text;

std::string journal_file(const std::string& folder);
std::string journal_shard(const StoredShard& shard);
std::string journal_error(std::uint64_t position, const Error& error);
std::string journal_seen(std::uint64_t errors_on_the_way);
std::string journal_draw(const StoredDraw& draw);
std::string journal_end(std::uint64_t slots);
/// Returns the text of all lines except the end.
std::string journal_of(const StoreContent& content);

}  // namespace infeed::detail
