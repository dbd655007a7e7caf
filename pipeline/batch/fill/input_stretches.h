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

/// Reads the input in stretches: blocks of records, which several threads read side by side, or
/// elements that one thread after the other pulls. A stretch is parked in the order in which it was
/// claimed, until those before it have places for their rows.
///
/// Invariants: everything is called with the lock of the hand-off held, and all state is guarded by it,
/// but for the input and source_, which belong to the thread that claims (one at a time), and a block's
/// content, which belongs to who reads or frames it. Memory for which there is no room is taken for one
/// stretch, when nothing else is under way.
class InputStretches {
 public:
  using Lock = std::unique_lock<std::mutex>;

  InputStretches(IteratorContext& run, StageCounters& counters, HandOff& hand_off, Stage& input,
                 const TypeInfo& in_type)
      : run_(run), counters_(counters), hand_off_(hand_off), input_(input), in_type_(in_type) {}

  /// Whether one of so many threads may claim another one; `is_written`: no rows wait to be written.
  bool can_claim(std::size_t threads, bool is_written) const;
  void begin_claim() { is_claiming_ = true; }
  struct Claimed {
    std::shared_ptr<InputRows> rows;
    std::uint64_t number;  ///< in the order of the input
    std::uint64_t ticks;   ///< that claiming it took
    bool is_read;          ///< else read() is next
  };
  /// Behind begin_claim(): a block, which another thread may follow at once, or up to `pulled_max`
  /// elements. None where there is no memory, no more blocks, or nobody wants anything any more.
  std::optional<Claimed> claim(Lock& lock, OwnStretches& own, std::size_t pulled_max,
                               bool is_written);
  void read(Lock& lock, const Claimed& claimed);
  /// Rows were written, which makes room for another stretch.
  void note_written() { is_short_ = false; }

  /// The next one in order, where it is read; else null.
  std::shared_ptr<InputRows> front() const { return parked_.empty() ? nullptr : parked_.front(); }
  void pop_front();
  bool are_parked() const { return !parked_.empty(); }
  /// Finds the records of a block whose first is at `position`. Where it ends in damage: the place.
  std::optional<RecordBlockSource::Place> frame(Lock& lock, InputRows& rows,
                                                std::uint64_t position);

  bool has_blocks_left() const { return has_blocks_left_; }
  /// Nobody will claim a block any more: the rest of the input comes by pulling.
  void note_last_block() { has_blocks_left_ = false; }
  /// No block is used any more. So many records that were framed are forgotten, and pulling goes on at
  /// `place`, or behind all blocks.
  void leave_blocks(std::uint64_t forgotten, const std::optional<RecordBlockSource::Place>& place);

  bool reads_blocks() const { return reads_blocks_; }
  /// The longest that a block of late took to be read.
  std::uint64_t slow_read_ticks() const { return slow_read_ticks_; }
  /// The most rows that came at once.
  std::size_t rows_max() const { return rows_max_; }
  /// Where the element at a position came from, if that was in a block; from any thread.
  TracedPlace find(std::uint64_t position) const { return places_.find(position); }

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
  PlaceLog places_;  ///< of rows that came in blocks, in an iterator that records
  bool is_claiming_ = false;
  bool has_input_left_ = true;                     ///< nobody has seen its end
  bool has_blocks_left_ = true;                    ///< of source_
  bool reads_blocks_ = false;                      ///< source_ was there for the last claim
  std::deque<std::shared_ptr<InputRows>> parked_;  ///< claimed in this order; null until it is read
  std::uint64_t first_parked_ = 0;                 ///< how many were claimed before them
  std::uint64_t slow_read_ticks_ = 0;
  std::size_t rows_max_ = 1;
  std::uint64_t bytes_ = 0;  ///< memory of one that was read
  /// There was no room for another one; and while some wait to be written, nobody asks again.
  bool is_short_ = false;
};

}  // namespace infeed::detail
