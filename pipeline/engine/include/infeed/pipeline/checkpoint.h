#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/detail/resume.h>

/// Why: a training run must go on after a crash exactly where it stopped, with no element twice and
/// none left out. The order is a pure function of seeds and position, so a checkpoint is a
/// position, not a copy of buffers. It is text of under a kilobyte (4 with a large window of pack)
/// that a person can read, compare and edit.
///
/// ```text
///     infeed-checkpoint 1
///     position 61440
///     epoch 0
///     errors 0
///     stage range(0, 100000)
///     stage filter
///     bookmark given=32703 pass=0 inputs=65536
///     stage shuffle(buffer=10000, seed=42, seed2=0)
///     stage batch(128)
///     checksum 1a2b3c4d
/// ```
///
/// The position counts the elements that the consumer took, not those that were read ahead. A line
/// "bookmark" belongs to the stage before it, and says from where a resume may go on
/// (detail/resume.h): here filter had read 65,536 elements when it had given 32,703. Without these
/// lines the resume reads from the start. The checksum covers the lines before it. To edit a
/// checkpoint, delete the checksum line: a text without one is accepted.
///
/// A source's line has checksums of its files' names, without their folders, and of their content.
/// So data that was copied or moved resumes, and other data is refused. They are made once a
/// dataset, at the first checkpoint, resume, cache in files or snapshot:
/// | a source's files                | read for the checksum                                      |
/// |---------------------------------|------------------------------------------------------------|
/// | up to 1 GiB                     | all                                                        |
/// | more                            | 1 GiB, at least 64 KiB a file, evenly spread over each     |
/// | more than 10,000                | 10,000 of them as above; names and sizes of the others     |
/// | by URL                          | nothing: size and ETag, else the date, of up to 64 of them |
/// A change elsewhere that keeps the sizes isn't seen: start anew after it, or give a cache
/// another `version`.
namespace infeed {

/// The elements of the stream before shard that other shards took together before this run began.
struct TakenBefore {
  std::uint64_t elements = 0;
  std::uint64_t shards = 0;  ///< how many they were

  friend bool operator==(const TakenBefore&, const TakenBefore&) = default;
};

struct Checkpoint {
  std::uint64_t position = 0;  ///< elements that the consumer took, errors included
  std::uint64_t epoch = 0;     ///< number of the dataset's iterations before this one
  /// Errors seen anywhere so far. If there are any, a resume looks at each element.
  std::uint64_t errors = 0;
  /// Errors among the elements that the consumer took in this run. Those that a stage left out or kept
  /// a row for aren't among them. Errors that IterateOptions::skip passed over are counted by the
  /// stage that made them: if only shard and stages of single elements (map, prefetch) are behind it,
  /// other shards' errors count, too.
  std::uint64_t errors_taken = 0;
  TakenBefore taken = {};        ///< by reshard_checkpoint()
  std::uint64_t order_hash = 0;  ///< hash of the elements taken, if asked for; see order_hash.h
  std::vector<std::string> signature;    ///< signatures of the stages, sources first
  std::vector<Bookmark> bookmarks = {};  ///< those of stages that can't seek, by their lines

  std::string to_text() const;
  /// Throws Error: invalid_argument with the bad line, failed_precondition for a later version.
  static Checkpoint from_text(std::string_view text);

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

}  // namespace infeed
