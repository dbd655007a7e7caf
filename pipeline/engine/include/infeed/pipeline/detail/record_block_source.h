#pragma once

#include <cstdint>
#include <optional>

#include <infeed/records/detail/record_blocks.h>

namespace infeed::detail {

/// Why: pull() reads and verifies all Records in one thread. A consumer with threads of its own
/// takes the blocks that hold the records instead (record_blocks.h), and lets its threads do the
/// rest. Stage::record_blocks() returns this source while that is possible.
///
/// The blocks hold the records that pull() would have given. After leave(), pull() goes on from the
/// first bad record, or after the last block.
///
/// Thread-safety: one thread at a time. Nobody calls pull() or skip() before leave().
class RecordBlockSource {
 public:
  /// Gives the next block, which the caller reads and frames. Returns false if the rest comes by
  /// pull().
  virtual bool claim(RecordBlock& block) = 0;
  /// The records of a block, and the time that reading them took. The sampled part of the time was
  /// measured with the CPU clock, too.
  struct Taken {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    std::uint64_t ticks = 0;
    std::uint64_t sampled_ticks = 0;
    std::uint64_t sampled_cpu_ns = 0;
  };
  virtual void note(const Taken& taken) = 0;
  /// Counts records that nothing will give up any more: those behind damage are read again by
  /// pull(), which counts them, and a recording can't take back what it has counted.
  virtual void note_given(std::uint64_t records) = 0;
  /// The time of a slow read of a block, in an iterator that records. The block is framed by now.
  struct SlowRead {
    std::uint64_t begin_ticks = 0;
    std::uint64_t ticks = 0;
  };
  virtual void note_slow_read(const RecordBlock& block, const SlowRead& read) = 0;
  /// The place of the first record that was not taken.
  struct Place {
    const BlockFile* file;
    RecordPosition position;
  };
  /// Ends the blocks: pull() goes on at `place`, or after the last claimed block. By then nobody
  /// uses a block.
  virtual void leave(const std::optional<Place>& place) = 0;

 protected:
  ~RecordBlockSource() = default;
};

}  // namespace infeed::detail
