#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <utility>

/// What a stage is told when it is made (stage.h), and how one that waits learns of a cancellation.
namespace infeed {

class IteratorContext;  // what all stages of one iterator share; only the library looks into it
class Node;
struct TypeInfo;

namespace detail {

struct StageCounters;

/// How many pulls lie between two that are measured with the thread's CPU clock.
struct SampleStride {
  std::uint32_t length = 1;
  std::uint32_t left = 1;
};

}  // namespace detail

/// What a stage draws its random numbers from.
struct Seeds {
  std::uint64_t seed = 0;
  std::uint64_t seed2 = 0;  ///< 0 where there is only one
  /// Nobody gave them, so they were drawn when the stage was described: a resume in another
  /// process, which has drawn others, takes those of its checkpoint.
  bool drawn = false;
  /// The seed belongs to flat_map or interleave: they don't draw themselves, but stages in their
  /// inner datasets that nobody gave a seed draw by this one. A checkpoint's line has it only once
  /// one of them has drawn.
  bool inner = false;
};

/// A seed for those who gave none, from the system.
std::uint64_t random_seed();
/// What a stage with one seed draws from: the one that was given, or else a random one.
Seeds given_or_random(std::optional<std::uint64_t> seed);

/// Where the elements of a stage stand in the stream that all shards share.
struct UnshardedPositions {
  std::uint64_t offset = 0;
  std::uint64_t stride = 1;

  std::uint64_t of(std::uint64_t position) const { return offset + stride * position; }
};

/// What a stage is told when it is made.
struct StageContext {
  IteratorContext& run;
  detail::StageCounters* counters;  ///< of the stage being made; of its consumer before open()
  /// How many passes over this stage were read before this one. A stage with a seed draws from
  /// (seed, epoch), so that the order never depends on who ran ahead.
  std::uint64_t epoch = 0;
  /// How many passes TensorFlow would have opened before this one: its repeat opens one more than
  /// it reads, and each takes the seeds of a shuffle. Stages that draw in TensorFlow's order need
  /// it.
  std::uint64_t passes_opened = 0;
  const TypeInfo* type = nullptr;  ///< of the elements that the stage gives
  /// Which of its consumer's inputs it is, so that the statistics of a zip's sides stay apart.
  std::size_t input_ordinal = 0;

  const Node* node = nullptr;  ///< of the stage being made
  /// What a stage whose node has seeds() draws from in this run.
  Seeds seeds = {};
  /// Inside inner datasets, which are described anew in each run: what takes the place of drawn
  /// seeds there, made from the outermost flat_map's own and the place.
  struct Inner {
    const Node* outermost = nullptr;  ///< null outside
    std::uint64_t key = 0;
  } inner = {};

  /// For an input that is only opened when it is read: all passes that were opened were read.
  void set_pass(std::uint64_t pass) { epoch = passes_opened = pass; }
};

/// Calls `wake` when the iteration is cancelled, so that a stage that waits for something else
/// stops waiting. The stage holds it as a member behind what `wake` touches.
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
/// Invariants: `wake` runs at most once at a time, in the thread that cancels, and never after the
/// destructor has returned. It must not wait for a thread that may cancel.
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
