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
#include <infeed/pipeline/traced_place.h>

/// Why: this is the interface between stages, and the one to write a stage of your own against.
///
/// A **Node** describes a stage: immutable, shared by all iterators, safe to use from any thread. A
/// **Stage** is its running state: made when an iteration starts (by repeat: once a pass), used by
/// one thread at a time, and gone when that iteration ends.
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
/// Rules of order: what a stage hands over may depend on its input, its options, its seed and its
/// epoch, and on nothing else: not on chunk borders, time or threads.
namespace infeed {

class Stage;
using NodePointer = std::shared_ptr<const Node>;

namespace detail {

struct OwnTime;
class RecordBlockSource;

/// Gives the node, which a factory has just made and nobody else has seen, the name that a user
/// gave it. Throws invalid_argument for a name against the rules of StageName.
NodePointer named(NodePointer node, const StageName& name);

}  // namespace detail

enum class Pull : std::uint8_t {
  values,     ///< 1..want slots were appended
  end,        ///< nothing was appended and nothing will ever be: the data is over
  cancelled,  ///< the iterator is being shut down; nothing was appended; hand it on
};

/// What is known of the elements that Stage::skip() passes over.
enum class Known : std::uint8_t {
  nothing,  ///< each that may be an error must be looked at
  /// A resume's checkpoint knows of no error, so none is among them: batch may multiply, a source
  /// may seek. That holds for what was read before the checkpoint and for nothing behind it: a
  /// stage must not pass over more elements of its input than it had read then.
  no_errors,
};

/// Two kinds of errors. An *element's* is the last slot of its chunk (Chunk::set_error): it takes
/// the place of one element, skip_errors may leave it out, and the stream goes on. A *terminal* one
/// is what a stage throws from do_pull() or do_skip(): memory that was refused, a state that it
/// can't go on from. It passes all stages and queues behind it unchanged, whatever came before it
/// is handed over first, and next() throws it then and at every later call. A stage doesn't catch
/// what its input throws; where it must, the input throws it again.
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
  /// stands in the place of one element and is the last slot of its chunk; the next call goes on
  /// after it. A stage that was given less than it could have hands that on rather than wait. It
  /// throws the stage's terminal Error, at every call from then on. A call in which the run was
  /// cancelled gives Pull::cancelled and nothing else: what a stage made of a shortened input is
  /// dropped.
  Pull pull(Chunk& out, std::size_t want);

  /// Passes over the next `count` elements as if they had been pulled, at the least cost that gives
  /// the same stream afterwards; returns how many there were (fewer only at the end, or when
  /// cancelled).
  std::uint64_t skip(std::uint64_t count, Known known = Known::nothing);

  /// Random access, where Node::is_indexable(): appends the elements at these positions (each below
  /// the cardinality), in the order given, to `out`, which is empty and has room for them. It may
  /// stop early, and stops behind an error; it never gives Pull::end, and doesn't move what pull()
  /// gives.
  Pull pull_at(Chunk& out, std::span<const std::uint64_t> positions);

  /// Where its next elements can be had as blocks of a record file (detail/record_block_source.h);
  /// null where they can only be pulled. The answer is of now.
  virtual detail::RecordBlockSource* record_blocks() { return nullptr; }

  /// Whether threads of its own keep several elements ready, so that another queue behind it would
  /// only cost its thread switches.
  virtual bool runs_ahead() const { return false; }

  /// Where the element at a position of its pass came from. Any thread may ask while the stage lives,
  /// and others pull it meanwhile.
  TracedPlace trace(std::uint64_t position) const { return do_trace(position); }
  /// Its name in statistics, "map[2]", which all stages of inner datasets at this place have.
  const std::string& label() const;
  /// The type of the elements that it gives.
  const TypeInfo& type() const { return *type_; }

 protected:
  virtual Pull do_pull(Chunk& out, std::size_t want) = 0;
  /// By default it pulls and drops. `known` is for the stage, which hands it on to its input.
  virtual std::uint64_t do_skip(std::uint64_t count, Known known);
  /// It is only asked of stages whose node says is_indexable().
  virtual Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions);
  /// A stage that knows asks its input; what do_pull() writes it touches with a lock only.
  virtual TracedPlace do_trace(std::uint64_t position) const;
  std::uint64_t epoch() const { return epoch_; }
  /// Elements of this pass that were handed over or skipped before the call at hand.
  std::uint64_t position() const { return position_; }
  /// True once somebody cancelled the iteration or a stage failed: a stage that waits or loops ends
  /// that and returns Pull::cancelled. CancellationWaker wakes one that waits.
  bool cancelled() const;
  /// The budget of the iterator. A stage takes what it must hold by a Reservation, and what it
  /// could do without by try_reserve_best_effort().
  MemoryAccount& memory() const;
  /// The pull at hand called the stage's function so many times: what is recorded divides its time
  /// among them.
  void note_calls(std::size_t calls) { calls_ = calls; }
  /// What the stage holds now, for statistics().
  void note_buffered(std::uint64_t elements, std::uint64_t bytes) const;

  /// The stages of this library use it, which share more than that.
  IteratorContext& run() const { return run_; }
  detail::StageCounters& counters() const { return *counters_; }

 private:
  /// Counts and times what `pull` does, which gives the elements from `position` on.
  template <class DoPull>
  Pull counted(Chunk& out, std::uint64_t position, DoPull pull);
  void note_own_time(const detail::OwnTime& time, std::uint64_t pulls, std::uint64_t position,
                     std::uint64_t count);
  void count_own_time(const detail::OwnTime& time, std::uint64_t pulls, std::uint64_t position,
                      std::uint64_t count);

  IteratorContext& run_;
  detail::StageCounters* counters_;
  const TypeInfo* type_;
  std::uint64_t epoch_;
  bool shares_counters_;   ///< with inner datasets that other threads may be reading
  std::size_t calls_ = 1;  ///< that the pull at hand made, for what is recorded
  detail::SampleStride sample_stride_;
  ErrorPointer failure_;        ///< terminal: what do_pull threw
  std::uint64_t position_ = 0;  ///< of the pass: elements handed over or skipped
};

class Node {
 public:
  Node(std::string name, const TypeInfo& type, std::vector<NodePointer> inputs = {})
      : name_(std::move(name)), type_(&type), inputs_(std::move(inputs)) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Its kind: "map".
  const std::string& name() const { return name_; }
  /// What the user calls it (StageName); empty when nobody gave it a name.
  const std::string& given_name() const { return given_name_; }
  /// "map 'augment'", or just "map".
  std::string described() const;
  /// Whether it has a line of its own in statistics and paths. A stage that opens its input in its
  /// own stead has none.
  virtual bool has_counters() const { return true; }
  /// The type of the elements that it gives.
  const TypeInfo& type() const { return *type_; }
  const std::vector<NodePointer>& inputs() const { return inputs_; }
  const Node& input() const { return *inputs_.front(); }

  /// The kind, and those options that the values or their order depend on: "shuffle(buffer=10000,
  /// seed=42)". A checkpoint is bound to the signatures of all stages. It is empty for a stage that
  /// changes neither (prefetch).
  virtual std::string signature() const { return name_; }
  /// A stage that draws random numbers has seeds. Its signature() holds them as "seed=" and, where
  /// there are two, "seed2="; it draws from StageContext::seeds.
  virtual std::optional<Seeds> seeds() const { return std::nullopt; }
  /// The signature() with these seeds in place of its own; only a stage that has seeds() is asked.
  virtual std::string signature_with(const Seeds&) const { return signature(); }
  /// What random numbers are keyed by, so that they don't depend on the number of hosts. shard
  /// spreads its input's; all others have those of their first input, element by element.
  virtual UnshardedPositions unsharded_positions() const {
    return inputs_.empty() ? UnshardedPositions{} : input().unsharded_positions();
  }
  /// How many elements there are when none fails.
  virtual Cardinality cardinality() const { return Cardinality::unknown(); }
  /// Whether cardinality() rests on a promise of the user's (assert_cardinality), which shows to be
  /// kept only when a pass is read to its end.
  virtual bool rests_on_a_promise() const;
  /// Whether its stages can pull_at(): the element at a position is a function of the position, and
  /// the cardinality is finite and exact.
  virtual bool is_indexable() const { return false; }
  /// The fewest bytes that an element takes: its sizeof, and what is known of its payload before it
  /// is there. A stage that hands on its input's elements hands on their bytes.
  virtual std::uint64_t element_bytes_min() const { return type().size; }
  /// The fewest bytes that the stage must be able to hold: so many elements of its input's
  /// element_bytes_min(), for example.
  virtual std::uint64_t buffer_bytes_min() const { return 0; }

  /// Makes the running stage; `consumer` is the context of the stage that will pull it.
  virtual std::unique_ptr<Stage> open(const StageContext& consumer) const;

 protected:
  /// `context` is the new stage's own: give it to Stage's constructor and to open() of the inputs.
  virtual std::unique_ptr<Stage> make_stage(const StageContext& context) const = 0;

 private:
  friend NodePointer detail::named(NodePointer node, const StageName& name);

  std::string name_;
  mutable std::string given_name_;  ///< set by named() before anybody shares the node
  const TypeInfo* type_;
  std::vector<NodePointer> inputs_;
};

namespace detail {

/// The node itself. Throws Error(invalid_argument) when its elements are of another type.
NodePointer of_type(NodePointer node, const TypeInfo& type);

}  // namespace detail
}  // namespace infeed
