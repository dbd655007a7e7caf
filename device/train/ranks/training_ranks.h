#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/communicator.h>
#include <infeed/device/variable_state.h>
#include <infeed/error.h>

#include "train/ranks/rank_reduce.h"
#include "train/ranks/replica_outcome.h"
#include "train/ranks/replica_range.h"

namespace infeed::detail {

/// How a rank begins its next step.
enum class StepStart : std::uint8_t {
  step,         ///< its shares are there
  end_of_data,  ///< the epoch is over
  stopped,      ///< somebody asked to stop
  ended,        ///< a callback of the chief ended the training
};

/// The state of one rank before a step. The chief's rate, reason and callbacks become those of all.
struct StepIntent {
  StepStart start = StepStart::step;
  std::int64_t step = 0;         ///< steps so far
  std::uint64_t order_hash = 0;  ///< hash of all batches up to this step's; 0: unknown
  double rate_factor = 1;
  std::string stop_reason = {};
  std::vector<NamedBytes> callbacks = {};  ///< the states of the chief's
};

/// Why: the ranks of a job train as one. Before each step they agree that all begin it, and after
/// it they add up what their replicas came to. So all stop behind the same whole step: when the
/// data is over, when one is told to stop, and when one fails or is lost.
///
/// Every rank makes the same calls in the same order. A rank that fails between two calls tells the
/// others, which then throw in their next call: "rank 2 failed: ...". A rank that is lost without a
/// word is named by the communicator.
///
/// Thread-safety: one thread at a time, which holds working(). It is released while a call waits for
/// other ranks: then nothing of the training changes, and another thread may look at it.
class TrainingRanks {
 public:
  /// `variables`: all of the training, which must be the same in each rank. Throws invalid_argument
  /// if there are more ranks than replicas.
  TrainingRanks(Communicator& ranks, std::int32_t replicas, std::vector<Variable> variables);

  World world() const { return ranks_.world(); }
  bool is_chief() const { return world().rank == 0; }
  /// True for the rank that saves if the chief is lost.
  bool is_deputy() const { return world().rank == 1; }
  std::mutex& working() { return working_; }
  /// Returns the replicas of this rank.
  const ReplicaRange& own() const { return own_; }

  /// Throws failed_precondition that names the ranks whose value differs from the chief's.
  void require_equal(std::string_view name, std::string_view value);
  /// Returns what all do: `ended` if the chief does, else `stopped` if any is; with the chief's
  /// rate and reason. Throws failed_precondition, with the rank, if ranks have other batches, or
  /// if only some have a batch.
  StepIntent agree(const StepIntent& own);
  /// Returns the states of the chief's callbacks as it told them last, at another rank; null: unknown.
  const std::vector<NamedBytes>* callbacks_of_chief() const {
    return callbacks_of_chief_ ? &*callbacks_of_chief_ : nullptr;
  }
  void forget_callbacks_of_chief() { callbacks_of_chief_.reset(); }
  /// Takes the outcomes of all ranks' replicas, one a replica, of which only this rank's are there,
  /// and adds the metrics and updates of the others. Returns the sums of the gradients.
  Gradients share(std::span<ReplicaOutcome> replicas, std::int64_t step);
  /// Returns when all ranks are through.
  void finish() { gather("the end of the training", {}); }

  /// Tells the others that this rank fails, unless they know. Throws nothing.
  void tell_failure(const Error& error) noexcept;
  /// True if the training ends because another rank failed, or was lost.
  bool has_lost_others() const { return has_lost_others_; }
  bool has_lost_chief() const { return has_lost_chief_; }

 private:
  /// Returns every rank's bytes. Throws if a rank told that it fails.
  std::vector<std::string> gather(std::string_view purpose, std::string_view bytes);
  /// Waits until all ranks know the error that they will throw. One that throws leaves the job, and
  /// others that still wait for a third one's bytes would take it for lost: two would save then.
  void meet_before_throwing() noexcept;
  /// Calls `exchange` while others may have working(). Notes whether it loses a rank.
  template <class Exchange>
  auto together(const Exchange& exchange);
  std::string outcomes_of_own(std::span<const ReplicaOutcome> replicas) const;
  /// Reads the outcomes of one rank's replicas, and which gradients they have.
  void read_outcomes(std::string_view bytes, const ReplicaRange& range,
                     std::span<ReplicaOutcome> replicas, std::vector<HasGradient>& has) const;
  std::size_t number_of(const Variable& variable) const;
  HasGradient gradients_of(const ReplicaOutcome& outcome) const;

  Communicator& ranks_;
  const std::int32_t replicas_;
  const ReplicaRange own_;
  const std::vector<Variable> variables_;
  /// Keeps a step's gradients for the next one; the pool itself keeps no more than were in use at once.
  const TensorPool pool_{{.free_bytes_max = std::numeric_limits<std::size_t>::max()}};
  std::mutex working_;
  bool is_over_ = false;  ///< all ranks know that the training failed
  bool has_lost_others_ = false;
  bool has_lost_chief_ = false;
  std::optional<std::vector<NamedBytes>> callbacks_of_chief_;
};

}  // namespace infeed::detail
