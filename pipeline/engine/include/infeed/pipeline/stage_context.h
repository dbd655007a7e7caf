#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <utility>

#include <infeed/pipeline/checkpoint.h>

/// The context that a stage gets when it is made (stage.h), and how a waiting stage learns of a
/// cancellation.
namespace infeed {

class IteratorContext;  // shared by all stages of one iterator; only the library looks into it
class Node;
struct TypeInfo;

namespace detail {

struct StageCounters;

/// The number of pulls between two that are measured with the thread's CPU clock.
struct SampleStride {
  std::uint32_t length = 1;
  std::uint32_t left = 1;
};

}  // namespace detail

/// The seeds of a stage's random numbers.
struct Seeds {
  std::uint64_t seed = 0;
  std::uint64_t seed2 = 0;  ///< 0 if there is only one
  /// True if nobody gave seeds, so they were drawn when the stage was described. A resume in
  /// another process, which has drawn others, takes those of its checkpoint.
  bool drawn = false;
  /// True if the seed belongs to flat_map or interleave. They don't draw themselves, but unseeded
  /// stages in their inner datasets draw by this seed. A checkpoint's line has it only once one of
  /// them has drawn.
  bool inner = false;
};

/// Returns a random seed from the system.
std::uint64_t random_seed();
/// Returns the seed that was given, or else a random one.
Seeds given_or_random(std::optional<std::uint64_t> seed);

/// Maps positions of a stage's elements to positions in the stream that all shards share.
struct UnshardedPositions {
  std::uint64_t offset = 0;
  std::uint64_t stride = 1;  ///< from one block to the next
  std::uint64_t width = 1;   ///< elements of a block
  std::uint64_t step = 1;    ///< from one element to the next before the last shard

  std::uint64_t of(std::uint64_t position) const {
    if (width == 1) return offset + stride * position;
    return offset + stride * (position / width) + step * (position % width);
  }
};

/// The context that a stage gets when it is made.
struct StageContext {
  IteratorContext& run;
  detail::StageCounters* counters;  ///< the new stage's; before open() its consumer's
  /// The number of passes over this stage that were read before this one. A stage with a seed draws
  /// from (seed, epoch), so the order never depends on which thread ran ahead.
  std::uint64_t epoch = 0;
  /// The number of passes that TensorFlow would have opened before this one: its repeat opens one
  /// more than it reads, and each takes the seeds of a shuffle. Stages that draw in TensorFlow's
  /// order need it.
  std::uint64_t passes_opened = 0;
  const TypeInfo* type = nullptr;  ///< the type of the elements that the stage gives
  /// The stage's place among its consumer's inputs. It keeps the statistics of a zip's inputs
  /// apart.
  std::size_t input_ordinal = 0;

  const Node* node = nullptr;  ///< the node of the new stage
  /// The seeds to draw from in this run, if the node has seeds().
  Seeds seeds = {};
  /// Set for shard and the stages behind it in a run that goes on from reshard_checkpoint(). The
  /// last `shards` of the elements may be errors; none of those before is.
  TakenBefore taken = {};
  Known known_of_taken = Known::nothing;  ///< knowledge about these last ones
  /// Set inside inner datasets, which are described anew in each run. It replaces drawn seeds
  /// there, and is made from the outermost flat_map's seed and the place.
  struct Inner {
    const Node* outermost = nullptr;  ///< null outside inner datasets
    std::uint64_t key = 0;
  } inner = {};

  /// Returns where the positions of a stage behind shard begin in this run. The elements that were taken
  /// before lie as far apart as those of shard's input, which may be a shard's itself.
  UnshardedPositions in_this_run(UnshardedPositions positions) const {
    positions.offset += positions.step * taken.elements;
    return positions;
  }
  /// Sets the pass of an input that is opened only when it is read: all opened passes were read.
  void set_pass(std::uint64_t pass) { epoch = passes_opened = pass; }
};

/// Calls `wake` when the iteration is cancelled, so that a stage that waits for something else
/// stops waiting. A stage declares it after the members that `wake` uses.
///
///     class Merge : public infeed::Stage {
///      public:
///       explicit Merge(const infeed::StageContext& context)
///           : Stage(context), waker_(context, [this] { queue_.stop(); }) {}
///
///      private:
///       Queue queue_;
///       infeed::CancellationWaker waker_;
///     };
///
/// Invariants: `wake` runs in the thread that cancels, or in the constructor if the iteration was
/// cancelled before; at most once at a time, and never after the destructor has returned. It must
/// not wait for a thread that may cancel.
class CancellationWaker {
 public:
  CancellationWaker(const StageContext& context, std::function<void()> wake)
      : CancellationWaker(context.run, std::move(wake)) {}
  CancellationWaker(IteratorContext& run, std::function<void()> wake);
  ~CancellationWaker();
  CancellationWaker(const CancellationWaker&) = delete;
  CancellationWaker& operator=(const CancellationWaker&) = delete;

  using Place = std::list<std::function<void()>>::iterator;

 private:
  IteratorContext& run_;
  const Place place_;
};

}  // namespace infeed
