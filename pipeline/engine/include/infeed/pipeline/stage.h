#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <infeed/pipeline/cardinality.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/memory_account.h>
#include <infeed/pipeline/options.h>
#include <infeed/pipeline/stage_context.h>
#include <infeed/pipeline/stage_traits.h>
#include <infeed/pipeline/traced_place.h>

/// Why: this is the interface between stages. Write a stage of your own against it.
///
/// A **Node** describes a stage: it is immutable, shared by all iterators, and safe to use from any
/// thread. A **Stage** is its running state: made when an iteration starts (by repeat: once per
/// pass), used by one thread at a time, and gone when that iteration ends.
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
///      private:
///       std::unique_ptr<infeed::Stage> input_;
///     };
///
/// Rules of order: the elements that a stage hands over may depend on its input, its options, its
/// seed and its epoch. They must not depend on chunk borders, time or threads.
namespace infeed {

class Stage;
using NodePointer = std::shared_ptr<const Node>;

namespace detail {

struct OwnTime;
class RecordBlockSource;

/// Gives the node the user's name. A factory has just made the node, and nobody else has seen it.
/// Throws invalid_argument if the name breaks the rules of StageName.
NodePointer named(NodePointer node, const StageName& name);

}  // namespace detail

enum class Pull : std::uint8_t {
  values,     ///< 1..want slots were appended
  end,        ///< nothing was appended and nothing will ever be: the data is over
  cancelled,  ///< the iterator is being shut down; nothing was appended; the caller returns it, too
};

/// The knowledge about the elements that Stage::skip() passes over.
enum class Known : std::uint8_t {
  nothing,  ///< each element that may be an error must be looked at
  /// No element is an error, because a resume's checkpoint knows of none: batch may multiply, a
  /// source may seek. That holds only for elements that were read before the checkpoint. A stage
  /// must not pass over more elements of its input than it had read then.
  no_errors,
};

/// There are two kinds of errors. An *element's* error is the last slot of its chunk
/// (Chunk::set_error): it takes the place of one element, skip_errors may leave it out, and the
/// stream goes on. A *terminal* error is thrown by a stage from do_pull() or do_skip(): memory was
/// refused, or the stage can't go on. It passes all later stages and queues unchanged, after all
/// elements before it were handed over. next() throws it then and at every later call. A stage
/// doesn't catch the exceptions of its input; if it must, the input throws them again.
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
  /// stage lives, even while other threads pull.
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
  /// Asks the input, if the stage knows its element's place there. Data that do_pull() writes is
  /// read under a lock only.
  virtual TracedPlace do_trace(std::uint64_t position) const;
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
  bool shares_counters_;   ///< with inner datasets that other threads may be reading
  std::size_t calls_ = 1;  ///< calls of the function in the current pull, for the recording
  detail::SampleStride sample_stride_;
  ErrorPointer failure_;        ///< the terminal error that do_pull threw
  std::uint64_t position_ = 0;  ///< elements of the pass that were handed over or skipped
};

class Node {
 public:
  /// Throws Error(invalid_argument) if more than 3,200 stages would follow each other.
  Node(std::string name, const TypeInfo& type, std::vector<NodePointer> inputs = {});
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const { return name_; }  ///< the stage's kind: "map"
  /// The user's name for the stage (StageName); empty if there is none.
  const std::string& given_name() const { return given_name_; }
  /// "map 'augment'", or just "map".
  std::string described() const;
  /// Returns true if the stage has a line of its own in statistics and paths. A stage whose open()
  /// returns its input's stage has no line.
  virtual bool has_counters() const { return true; }
  /// Tells what the statistics need to know of the stage's kind.
  virtual StageTraits traits() const { return {}; }
  /// The type of the elements that the stage gives.
  const TypeInfo& type() const { return *type_; }
  const std::vector<NodePointer>& inputs() const { return inputs_; }
  const Node& input() const { return *inputs_.front(); }

  /// Returns the kind and those options that affect the values or their order:
  /// "shuffle(buffer=10000, seed=42)". A checkpoint is bound to the signatures of all stages. It is
  /// empty for a stage that changes neither (prefetch).
  virtual std::string signature() const { return name_; }
  /// Returns the seeds of a stage that draws random numbers. Its signature() holds them as "seed="
  /// and, if there are two, "seed2="; it draws from StageContext::seeds.
  virtual std::optional<Seeds> seeds() const { return std::nullopt; }
  /// Returns the signature() with these seeds. Only called if the stage has seeds().
  virtual std::string signature_with(const Seeds&) const { return signature(); }
  /// Returns the positions that key random numbers, which don't depend on how many hosts there are:
  /// shard spreads its input's, other stages have those of their first input.
  virtual UnshardedPositions unsharded_positions() const {
    return inputs_.empty() ? UnshardedPositions{} : input().unsharded_positions();
  }
  /// Returns how many of the input's first elements the first `given` are made of; nothing if that
  /// isn't known, or if the input can't begin behind them (filter, shuffle, enumerate).
  virtual std::optional<std::uint64_t> input_taken(std::uint64_t given) const;
  /// Returns how many elements there are if none fails.
  virtual Cardinality cardinality() const { return Cardinality::unknown(); }
  /// Returns true if cardinality() is a user's promise, which only the end of a pass checks.
  virtual bool rests_on_a_promise() const;
  /// Returns true if the node's stages can pull_at(): the element at a position is a function of
  /// the position, and the cardinality is finite and exact.
  virtual bool is_indexable() const { return false; }
  /// Returns the fewest bytes that an element takes: its sizeof, and the payload that is known
  /// beforehand. A stage that hands on its input's elements returns the input's number.
  virtual std::uint64_t element_bytes_min() const { return type().size; }
  /// Returns the fewest bytes that the stage must be able to hold, for example its buffer's
  /// elements times the input's element_bytes_min().
  virtual std::uint64_t buffer_bytes_min() const { return 0; }

  /// Makes the running stage. `consumer` is the context of the stage that will pull it.
  virtual std::unique_ptr<Stage> open(const StageContext& consumer) const;

 protected:
  /// Makes the stage. `context` is the new stage's own: give it to Stage's constructor and to
  /// open() of the inputs.
  virtual std::unique_ptr<Stage> make_stage(const StageContext& context) const = 0;

 private:
  friend NodePointer detail::named(NodePointer node, const StageName& name);

  std::string name_;
  mutable std::string given_name_;  ///< set by named() before the node is shared
  const TypeInfo* type_;
  std::vector<NodePointer> inputs_;
  int stages_in_a_row_ = 1;  ///< from the farthest source to this stage
};

namespace detail {

/// Returns the node. Throws Error(invalid_argument) if its elements have another type.
NodePointer of_type(NodePointer node, const TypeInfo& type);

}  // namespace detail
}  // namespace infeed
