#pragma once

#include <cstdint>
#include <optional>

#include <infeed/records/detail/record_blocks.h>

namespace infeed::detail {

/// Why: a stage that gives Records gives them one thread, which has read and verified them all. A
/// consumer with threads of its own takes the blocks that they lie in instead (record_blocks.h) and
/// lets its threads do the rest. Stage::record_blocks() gives this, where and as long as it can be.
///
/// What it gives is what pull() would have given. From the first record that isn't as it should be,
/// and behind the last of its blocks, pull() goes on, after leave().
///
/// One thread at a time; pull() and skip() aren't called until leave() was.
class RecordBlockSource {
 public:
  /// The next block, to be read and framed; false when the rest comes by pull().
  virtual bool claim(RecordBlock& block) = 0;
  /// So many records were handed on, of so many bytes; to read them took so long, of which so much
  /// was measured with the CPU clock.
  struct Taken {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    std::uint64_t ticks = 0;
    std::uint64_t sampled_ticks = 0;
    std::uint64_t sampled_cpu_ns = 0;
  };
  virtual void note(const Taken& taken) = 0;
  /// In an iterator that records: to read this block, which is framed now, took long.
  struct SlowRead {
    std::uint64_t begin_ticks = 0;
    std::uint64_t ticks = 0;
  };
  virtual void note_slow_read(const RecordBlock& block, const SlowRead& read) = 0;
  /// A record that was not taken.
  struct Place {
    const BlockFile* file;
    RecordPosition position;
  };
  /// No more blocks: pull() is to go on at `place`, or behind all that was claimed. Nobody uses any
  /// block then.
  virtual void leave(const std::optional<Place>& place) = 0;

 protected:
  ~RecordBlockSource() = default;
};

}  // namespace infeed::detail
