#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/resume.h>
#include <infeed/pipeline/memory_account.h>
#include <infeed/pipeline/node.h>
#include <infeed/pipeline/stage_context.h>
#include <infeed/pipeline/traced_place.h>

/// Why: this is the interface between stages. Write a stage of your own against it.
///
/// A **Node** (node.h) describes a stage: it is immutable, shared by all iterators, and safe to use
/// from any thread. A **Stage** is its running state: made when an iteration starts (by repeat:
/// once per pass), used by one thread at a time, and gone when that iteration ends.
///
///     class EveryOther final : public infeed::Stage {   // hands on the elements 0, 2, 4, ...
///      public:
///       EveryOther(const infeed::StageContext& context, std::unique_ptr<infeed::Stage> input)
///           : Stage(context), input_(std::move(input)) {}
///       infeed::Pull do_pull(infeed::Chunk& out, std::size_t) override {
///         const infeed::Pull pulled = input_->pull(out, 1);
///         if (pulled == infeed::Pull::values) input_->skip(1);
///         return pulled;
///       }
///       infeed::TracedPlace do_trace(std::uint64_t position) const override {
///         return input_->trace(2 * position);
///       }
///      private:
///       std::unique_ptr<infeed::Stage> input_;
///     };
///
/// Rules of order: the elements that a stage hands over may depend on its input, its options, its
/// seed and its epoch. They must not depend on chunk borders, time or threads.
namespace infeed {

namespace detail {

struct OwnTime;
class RecordBlockSource;

}  // namespace detail

enum class Pull : std::uint8_t {
  values,     ///< 1..want slots were appended
  end,        ///< nothing was appended and nothing will ever be: the data is over
  cancelled,  ///< the iterator is being shut down; nothing was appended; the caller returns it, too
};

/// There are two kinds of errors. An *element's* error is the last slot of its chunk
/// (Chunk::set_error): it takes the place of one element, skip_errors may leave it out, and the
/// stream goes on. A *terminal* error is thrown by a stage from do_pull() or do_skip(): memory was
/// refused, or the stage can't go on. It passes all later stages and queues unchanged, after all
/// elements before it were handed over. next() throws it then and at every later call. A stage
/// doesn't catch the exceptions of its input; if it must, the input throws them again.
///
/// An element's error that may pass (unavailable, deadline_exceeded) becomes terminal where elements
/// are passed over: by skip(), a resume, or shard, which drops other shards' elements. Its file may
/// lack the rest, so the elements behind would be others than on other hosts, or in the run before.
/// A resume behind errors (Known::errors) passes over it: it may have been there before.
class Stage {
 public:
  explicit Stage(const StageContext& context)
      : run_(context.run),
        counters_(context.counters),
        type_(context.type),
        epoch_(context.epoch),
        shares_counters_(context.inner.outermost != nullptr) {}
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  /// Appends 1..want slots (`want` >= 1 and at most out.room()) to `out`, which is empty. An error
  /// takes the place of one element and is the last slot of its chunk; the next call goes on after
  /// it. A stage with fewer elements than it was asked for hands those on rather than wait. Throws
  /// the stage's terminal Error, at every call from then on. If the run was cancelled during the
  /// call, it returns Pull::cancelled and no elements: those made from a shortened input are
  /// dropped.
  Pull pull(Chunk& out, std::size_t want);

  /// Passes over the next `count` elements as if they had been pulled, as cheaply as the same
  /// stream afterwards allows. Returns how many there were: fewer only at the end, or when
  /// cancelled.
  std::uint64_t skip(std::uint64_t count, Known known = Known::nothing);

  /// Gives random access if Node::is_indexable(): appends the elements at these positions, in the
  /// order given, to `out`, which is empty and has room for them. Each position is below the
  /// cardinality. It may stop early, and stops after an error. It never returns Pull::end, and
  /// doesn't change what pull() gives.
  Pull pull_at(Chunk& out, std::span<const std::uint64_t> positions);

  /// Returns the source of the next elements as blocks of a record file
  /// (detail/record_block_source.h); null if they can only be pulled. The answer holds only for
  /// now.
  virtual detail::RecordBlockSource* record_blocks() { return nullptr; }

  /// Returns true if the stage's own threads keep several elements ready. Another queue behind it
  /// would only cost thread switches.
  virtual bool runs_ahead() const { return false; }

  /// Returns where the element at a position of this pass came from. Any thread may ask while the
  /// stage lives, even while other threads pull, before the stage has begun, and behind its end.
  TracedPlace trace(std::uint64_t position) const { return do_trace(position); }
  /// Returns the stage's name in statistics, "map[2]". All stages of inner datasets at this place
  /// share it.
  const std::string& label() const;
  /// Returns the type of the elements that the stage gives.
  const TypeInfo& type() const { return *type_; }

 protected:
  virtual Pull do_pull(Chunk& out, std::size_t want) = 0;
  /// Pulls and drops, by default. A stage hands `known` on to its input.
  virtual std::uint64_t do_skip(std::uint64_t count, Known known);
  /// Only called for stages whose node says is_indexable().
  virtual Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions);
  /// Asks the input, if the stage knows its element's place there (PassThroughStage does it for a
  /// place that can be computed). Data that do_pull() writes is read under a lock only. Every
  /// stage decides: one that doesn't know returns Stage::do_trace(position), which says so.
  virtual TracedPlace do_trace(std::uint64_t position) const = 0;
  std::uint64_t epoch() const { return epoch_; }
  /// Returns the elements of this pass that were handed over or skipped before the current call.
  std::uint64_t position() const { return position_; }
  /// Returns true once somebody cancelled the iteration or a stage failed. A stage that waits or
  /// loops then stops and returns Pull::cancelled. CancellationWaker wakes a waiting stage.
  bool cancelled() const;
  /// Returns the iterator's memory account. A stage takes memory that it must hold by a
  /// Reservation, and memory that it could do without by try_reserve_best_effort().
  MemoryAccount& memory() const;
  /// Says how often the current pull called the stage's function; the recording divides its time.
  void note_calls(std::size_t calls) { calls_ = calls; }
  /// Says what the stage holds now, for statistics().
  void note_buffered(std::uint64_t elements, std::uint64_t bytes) const;
  /// Adds to a count of its kind's own: the one at this place of StageTraits::counts.
  void note_count(std::size_t own, std::uint64_t amount) const;

  /// For the stages of this library, which share more state.
  IteratorContext& run() const { return run_; }
  detail::StageCounters& counters() const { return *counters_; }

 private:
  /// Calls `pull`, which gives the elements from `position` on, and counts and times it.
  template <class DoPull>
  Pull counted(Chunk& out, std::uint64_t position, DoPull pull);
  void note_own_time(const detail::OwnTime& time, std::uint64_t pulls, std::uint64_t position,
                     std::uint64_t count);

  IteratorContext& run_;
  detail::StageCounters* counters_;
  const TypeInfo* type_;
  std::uint64_t epoch_;
  bool has_looked_ = false;  ///< for the checkpoint's bookmark
  bool shares_counters_;     ///< with inner datasets that other threads may be reading
  std::size_t calls_ = 1;    ///< calls of the function in the current pull, for the recording
  const Bookmark* bookmark_ = nullptr;  ///< the checkpoint's for this pass, or null
  detail::SampleStride sample_stride_;
  ErrorPointer failure_;        ///< the terminal error that do_pull threw
  std::uint64_t position_ = 0;  ///< elements of the pass that were handed over or skipped
};

/// A stage that hands on elements of one input, each from a place there that is easy to compute.
/// It overrides what it changes, and the rest is passed on: a skip, a random access, and the
/// question where an element came from.
///
///     class First final : public infeed::PassThroughStage {  // hands on one element
///       using PassThroughStage::PassThroughStage;
///       infeed::Pull do_pull(infeed::Chunk& out, std::size_t) override {
///         return position() == 0 ? input().pull(out, 1) : infeed::Pull::end;
///       }
///       std::uint64_t do_skip(std::uint64_t count, infeed::Known known) override {
///         return position() == 0 ? input().skip(count == 0 ? 0 : 1, known) : 0;
///       }
///     };
class PassThroughStage : public Stage {
 public:
  PassThroughStage(const StageContext& context, std::unique_ptr<Stage> input)
      : Stage(context), input_(std::move(input)) {}

 protected:
  Stage& input() { return *input_; }
  const Stage& input() const { return *input_; }
  /// Goes on with another input. No other thread may be tracing.
  void replace_input(std::unique_ptr<Stage> input) { input_ = std::move(input); }
  /// Returns the place in the input of the element at `position`. Any thread may ask, so it depends
  /// on constants alone.
  virtual std::uint64_t input_position(std::uint64_t position) const { return position; }

  Pull do_pull(Chunk& out, std::size_t want) override { return input_->pull(out, want); }
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    return input_->skip(count, known);
  }
  Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions) override {
    return input_->pull_at(out, positions);
  }
  TracedPlace do_trace(std::uint64_t position) const final {
    return input_->trace(input_position(position));
  }

 private:
  std::unique_ptr<Stage> input_;
};

}  // namespace infeed
