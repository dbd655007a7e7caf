#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include <infeed/detail/hand_off.h>
#include <infeed/pipeline/detail/record_block_source.h>
#include <infeed/pipeline/stage.h>

#include "batch/fill/input_rows.h"
#include "engine/recording/place_log.h"
#include "engine/stage_counters.h"

namespace infeed::detail {

/// Reads the input in stretches: blocks of records, which several threads read in parallel, or
/// elements, which one thread at a time pulls. Stretches are parked in the order in which they were
/// claimed, until those before them have places for their rows.
///
/// Invariants: everything is called with the lock of the hand-off held, which guards all state,
/// with two exceptions. The input and source_ belong to the thread that claims (one at a time). A
/// block's content belongs to the thread that reads or frames it. Memory beyond the limit is taken
/// for one stretch only, when nothing else is under way.
class InputStretches {
 public:
  using Lock = std::unique_lock<std::mutex>;

  InputStretches(IteratorContext& run, StageCounters& counters, HandOff& hand_off, Stage& input,
                 const TypeInfo& in_type)
      : run_(run), counters_(counters), hand_off_(hand_off), input_(input), in_type_(in_type) {}

  /// Returns true if one of `threads` threads may claim another stretch. `is_written` says that no
  /// rows wait to be written, and no errors to be taken.
  bool can_claim(std::size_t threads, bool is_written) const;
  void begin_claim() { is_claiming_ = true; }
  struct Claimed {
    std::shared_ptr<InputRows> rows;
    std::uint64_t number;  ///< position in the input's order
    std::uint64_t ticks;   ///< time that claiming took
    bool is_read;          ///< false: call read() next
  };
  /// Claims a block, which another thread may follow at once, or up to `pulled_max` elements. Call
  /// begin_claim() first. Returns nothing if there is no memory, no block left, or if the run was
  /// stopped.
  std::optional<Claimed> claim(Lock& lock, OwnStretches& own, std::size_t pulled_max,
                               bool is_written);
  void read(Lock& lock, const Claimed& claimed);
  /// Says that there may be room for another stretch: rows were written, or a batch or errors taken.
  void look_again() { is_short_ = false; }

  /// Returns the next stretch in order; null if it isn't read yet.
  std::shared_ptr<InputRows> front() const { return parked_.empty() ? nullptr : parked_.front(); }
  void pop_front();
  bool are_parked() const { return !parked_.empty(); }
  /// Finds the records of a block whose first record is at `position`. Returns the place of damage,
  /// if the block ends in damage.
  std::optional<RecordBlockSource::Place> frame(Lock& lock, InputRows& rows,
                                                std::uint64_t position);

  bool has_blocks_left() const { return has_blocks_left_; }
  /// Says that no more blocks will be claimed: the rest of the input is pulled.
  void note_last_block() { has_blocks_left_ = false; }
  /// Counts the records of blocks before a position: nothing will give them up any more.
  void note_given(std::uint64_t position);
  /// Stops using blocks, whose records before `position` have places. Pulling goes on at `place`, or
  /// after all blocks.
  void leave_blocks(std::uint64_t position, const std::optional<RecordBlockSource::Place>& place);

  bool reads_blocks() const { return reads_blocks_; }
  /// Returns the longest recent time to read a block.
  std::uint64_t slow_read_ticks() const { return slow_read_ticks_; }
  /// Returns the most rows that came at once.
  std::size_t rows_max() const { return rows_max_; }
  /// Returns where the record of a block came from that frame() was told of. From any thread.
  TracedPlace find(std::uint64_t position) const { return places_.find(position); }
  /// Forgets where the records of blocks from a position on came from.
  void forget_places_from(std::uint64_t position) { places_.forget_from(position); }
  /// Skips elements of the input. Only before the first claim.
  void note_skipped(std::uint64_t elements) { pulled_ += elements; }

 private:
  bool claim_block(Lock& lock, InputRows& rows, std::uint64_t& ticks);
  void pull(InputRows& rows, std::size_t want);
  void read_block(InputRows& rows, std::uint64_t claim_ticks, bool is_sampled) const;
  void hold(InputRows& rows, std::uint64_t bytes);

  IteratorContext& run_;
  StageCounters& counters_;
  HandOff& hand_off_;
  Stage& input_;
  const TypeInfo& in_type_;
  RecordBlockSource* source_ = nullptr;
  /// Where the records of source_ that aren't counted begin, once a block is framed.
  std::optional<std::uint64_t> not_given_;
  std::uint64_t pulled_ = 0;  ///< elements that were pulled or skipped; the claiming thread's
  PlaceLog places_;           ///< places of rows in blocks, if the iterator records
  bool is_claiming_ = false;
  bool has_input_left_ = true;                     ///< the end wasn't seen yet
  bool has_blocks_left_ = true;                    ///< in source_
  bool reads_blocks_ = false;                      ///< the last claim found a source_
  std::deque<std::shared_ptr<InputRows>> parked_;  ///< in the order of claims; null until read
  std::uint64_t first_parked_ = 0;                 ///< number of stretches claimed before them
  std::uint64_t slow_read_ticks_ = 0;
  std::size_t rows_max_ = 1;
  std::uint64_t bytes_ = 0;  ///< expected for the next stretch
  /// There was no room for another stretch since look_again(). While rows wait to be written, or
  /// errors to be taken, nobody asks again.
  bool is_short_ = false;
};

}  // namespace infeed::detail
