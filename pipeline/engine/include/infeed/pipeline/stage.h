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

/// Why: this is the interface between stages, and the one to write a stage of your own against.
///
/// A **Node** describes a stage: immutable, shared by all iterators, safe to use from any thread. A
/// **Stage** is its running state: made when an iteration starts (by repeat: once a pass), used by
/// one thread at a time, and gone when that iteration ends.
///
///     class EveryOther final : public infeed::Stage {   // hands on the elements 0, 2, 4, ...
///      public:
///       EveryOther(const infeed::StageContext& scope, std::unique_ptr<infeed::Stage> input)
///           : Stage(scope), input_(std::move(input)) {}
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

class IteratorContext;
class Node;
class Stage;
using NodePointer = std::shared_ptr<const Node>;

namespace detail {
struct StageCounters;
}

/// What a stage draws its random numbers from.
struct Seeds {
  std::uint64_t seed = 0;
  std::uint64_t seed2 = 0;  ///< 0 where there is only one
  /// Nobody gave them, so they were drawn when the stage was described: a resume in another
  /// process, which has drawn others, takes those of its checkpoint.
  bool drawn = false;
  /// Of flat_map and interleave: it doesn't draw itself, but stages in its inner datasets that
  /// nobody gave a seed do so by this one. In a checkpoint's line only once one has.
  bool inner = false;
};

/// Where the elements of a stage stand in the stream that all shards share: element p at
/// offset + stride * p.
struct UnshardedPositions {
  std::uint64_t offset = 0;
  std::uint64_t stride = 1;
};

/// What a stage is told when it is made.
struct StageContext {
  IteratorContext& run;
  detail::StageCounters* counters;  ///< of the stage being made; of its consumer before open()
  /// How many passes over this stage were read before this one. A stage with a seed draws from
  /// (seed, epoch), so that the order never depends on who ran ahead.
  std::uint64_t epoch = 0;
  /// How many passes TensorFlow would have opened before this one: its repeat opens one more than
  /// it reads, and each takes the seeds of a shuffle. For stages that draw in TensorFlow's order.
  std::uint64_t passes_opened = 0;
  const TypeInfo* type = nullptr;  ///< of the elements that the stage gives
  /// Which of its consumer's inputs it is, so that the statistics of a zip's sides stay apart.
  std::size_t input_ordinal = 0;

  const Node* node = nullptr;  ///< of the stage being made
  /// Of a stage whose node has seeds(): those to draw from in this run.
  Seeds seeds = {};
  /// Inside inner datasets, which are described anew in each run: what takes the place of drawn
  /// seeds there, made from the outermost flat_map's own and the place.
  struct Inner {
    const Node* outermost = nullptr;  ///< null outside
    std::uint64_t key = 0;
  } inner = {};

  /// Of an input that is only opened when it is read, all passes that were opened were read.
  void set_pass(std::uint64_t pass) { epoch = passes_opened = pass; }
};

enum class Pull : std::uint8_t {
  values,     ///< 1..want slots were appended
  end,        ///< nothing was appended and nothing will ever be: the data is over
  cancelled,  ///< the iterator is being shut down; nothing was appended; hand it on
};

/// Two kinds of errors. An *element's* is the last slot of its chunk (Chunk::set_error): it takes
/// the place of one element, skip_errors may leave it out, and the stream goes on. A *terminal* one
/// is what a stage throws from do_pull() or do_skip(): memory that was refused, a state that it
/// can't go on from. It passes all stages and queues behind it unchanged, whatever came before it
/// is handed over first, and next() throws it then and at every later call. A stage doesn't catch
/// what its input throws; where it must, the input throws it again.
class Stage {
 public:
  explicit Stage(const StageContext& scope)
      : run_(scope.run), counters_(scope.counters), type_(scope.type), epoch_(scope.epoch) {}
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Appends 1..want slots (`want` >= 1 and at most out.room()) to `out`, which is empty. An error
  /// stands in the place of one element and is the last slot of its chunk; the next call goes on
  /// after it. A stage that was given less than it could have hands that on rather than wait.
  /// Throws the stage's terminal Error, at every call from then on. Pull::cancelled is all that a
  /// call gives in which the run was cancelled: what a stage made of a shortened input is dropped.
  Pull pull(Chunk& out, std::size_t want);

  /// Passes over the next `count` elements as if they had been pulled, at the least cost that gives
  /// the same stream afterwards; returns how many there were (fewer only at the end, or when
  /// cancelled).
  std::uint64_t skip(std::uint64_t count);

  /// Random access, where Node::is_indexable(): appends the elements at these positions (each below
  /// the cardinality), in the order given, to `out`, which is empty and has room for them. May stop
  /// early, and stops behind an error; never gives Pull::end. Doesn't move what pull() gives.
  Pull pull_at(Chunk& out, std::span<const std::uint64_t> positions);

  /// Of the elements that it gives.
  const TypeInfo& type() const { return *type_; }

 protected:
  virtual Pull do_pull(Chunk& out, std::size_t want) = 0;
  /// By default pulls and drops.
  virtual std::uint64_t do_skip(std::uint64_t count);
  /// Only asked of stages whose node says is_indexable().
  virtual Pull do_pull_at(Chunk& out, std::span<const std::uint64_t> positions);

  IteratorContext& run() const { return run_; }
  detail::StageCounters& counters() const { return *counters_; }
  std::uint64_t epoch() const { return epoch_; }

 private:
  /// Counts and times what `pull` does.
  template <class DoPull>
  Pull counted(Chunk& out, DoPull pull);

  IteratorContext& run_;
  detail::StageCounters* counters_;
  const TypeInfo* type_;
  std::uint64_t epoch_;
  ErrorPointer failure_;  ///< terminal: what do_pull threw
};

class Node {
 public:
  Node(std::string name, const TypeInfo& type, std::vector<NodePointer> inputs = {})
      : name_(std::move(name)), type_(&type), inputs_(std::move(inputs)) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const { return name_; }
  /// Of the elements that it gives.
  const TypeInfo& type() const { return *type_; }
  const std::vector<NodePointer>& inputs() const { return inputs_; }
  const Node& input() const { return *inputs_.front(); }

  /// Name and those options that its values or their order depend on: "shuffle(buffer=10000,
  /// seed=42)". A checkpoint is bound to the signatures of all stages. Empty for a stage that
  /// changes neither (prefetch).
  virtual std::string signature() const { return name_; }
  /// Of a stage that draws random numbers. Its signature() holds them as "seed=" and, where there
  /// are two, "seed2=", and it draws from StageContext::seeds.
  virtual std::optional<Seeds> seeds() const { return std::nullopt; }
  /// Of a stage that has seeds(): signature() with these in place of its own.
  virtual std::string signature_with(const Seeds&) const { return signature(); }
  /// What random numbers are keyed by, so that they don't depend on the number of hosts. shard
  /// spreads its input's; all others have those of their first input, element by element.
  virtual UnshardedPositions unsharded_positions() const {
    return inputs_.empty() ? UnshardedPositions{} : input().unsharded_positions();
  }
  /// How many elements there are when none fails.
  virtual Cardinality cardinality() const { return Cardinality::unknown(); }
  /// Whether its stages can pull_at(): the element at a position is a function of the position, and
  /// the cardinality is finite and exact.
  virtual bool is_indexable() const { return false; }
  /// Least bytes that the stage must be able to hold (sizeof only, where payloads are not known).
  virtual std::uint64_t buffer_bytes_min() const { return 0; }

  /// Makes the running stage; `consumer` is the scope of the stage that will pull it.
  virtual std::unique_ptr<Stage> open(const StageContext& consumer) const;

 protected:
  /// `scope` is the new stage's own: give it to Stage's constructor and to open() of the inputs.
  virtual std::unique_ptr<Stage> make_stage(const StageContext& scope) const = 0;

 private:
  std::string name_;
  const TypeInfo* type_;
  std::vector<NodePointer> inputs_;
};

}  // namespace infeed
