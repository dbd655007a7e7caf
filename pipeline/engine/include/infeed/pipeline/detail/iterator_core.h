#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/order_hash.h>
#include <infeed/pipeline/iterate_options.h>
#include <infeed/pipeline/memory_account.h>
#include <infeed/pipeline/stage.h>
#include <infeed/pipeline/statistics.h>

namespace infeed::detail {

class ReadyElements;
class ReadyEvent;
class Recorder;
class TunerThread;
class Watchdog;

/// Throws Error(failed_precondition) if the Dataset was default-constructed or moved from.
void check_described(const Node* node);

std::uint64_t next_epoch(std::atomic<std::uint64_t>& iterations, const IterateOptions& options);

/// Throws Error(failed_precondition): the Iterator was default-constructed or moved from.
[[noreturn]] void throw_no_stream();

/// Something that a waiting consumer must look at now and then, as Python's signals.
struct WaitCheck {
  std::chrono::nanoseconds every;
  std::function<void()> look;  ///< may throw, which leaves the iterator as it was
  bool may_work;               ///< the consumer's thread may take part in the last stage's work
};

/// The untyped part of an iterator.
class IteratorCore {
 public:
  IteratorCore(NodePointer node, IterateOptions options);
  ~IteratorCore();

  /// Fills the chunk with the next elements. Returns false at the end. Throws if an error is next.
  /// With a check, it waits for threads alone, and looks meanwhile: for those of the last stage, or
  /// for one that keeps elements ready as is_ready() has it.
  bool refill(const WaitCheck* check = nullptr);
  /// Returns true if refill() returns or throws without waiting. Waits for that until the deadline
  /// or a stop. From the first such call on a thread keeps elements ready.
  bool is_ready(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop);
  /// Returns a descriptor that is readable while refill() wouldn't wait. It belongs to this object.
  int ready_descriptor();

  Chunk& chunk() { return chunk_; }
  /// Drops `count` elements of the chunk, which the consumer took.
  void took(std::size_t count) {
    chunk_.drop_front(count);
    advance(count);
  }
  std::uint64_t position() const { return position_.load(std::memory_order_relaxed); }
  /// Returns null unless the order is hashed.
  OrderHash* order_hash() { return hashes_order_ ? &order_hash_ : nullptr; }
  Checkpoint checkpoint() const;
  /// Returns where the rows of the element at `position` came from.
  std::vector<TracedPlace> rows_of(std::uint64_t position) const;
  void read_ahead_until(std::uint64_t position);
  void cancel();
  PipelineStatistics statistics() const;
  const MemoryAccount& memory() const;
  void set_memory_limit(std::uint64_t bytes);
  TuningReport tuning() const;
  void freeze_tuning();
  RecordingStatus recording() const;
  void record_step(const StepTimes& step);
  /// Says that steps will be recorded, so that next() doesn't count as one. If some are even after the
  /// end of the data, the recording ends with the iterator.
  void expect_steps(bool after_the_end = false);
  /// Returns how long the consumer has waited in next(). Only for the consumer's thread.
  std::chrono::nanoseconds consumer_wait() const;

 private:
  void advance(std::uint64_t count) {
    position_.store(position() + count, std::memory_order_relaxed);
  }
  void begin_tuning();
  void finish_recording(const std::string& why);
  void resume(const IterateOptions& options);
  Pull pull_root();
  Pull pull_or_pop();
  Pull recorded_pull(Recorder& recorder);
  ErrorPointer cancellation(std::string_view when) const;
  [[noreturn]] void fail(const ErrorPointer& error);
  void end_stages();
  bool may_read_ahead();
  void wait_looking(const WaitCheck& check);
  void check_process() const;
  void leave_to_parent();

  NodePointer node_;
  std::shared_ptr<IteratorContext> run_;
  std::uint64_t epoch_;
  std::atomic<std::uint64_t> position_{0};  ///< written by the consumer, read by the tuner
  struct {
    std::uint64_t elements = 0;
    std::uint64_t errors = 0;
    std::uint64_t errors_taken = 0;  ///< by the consumer, in this run, too
    TakenBefore taken = {};
  } before_;  ///< this run, says the checkpoint that it resumed from
  bool ended_ = false;
  ErrorPointer failure_;  ///< terminal
  const bool hashes_order_;
  OrderHash order_hash_;
  Chunk chunk_;
  const std::uint64_t forks_;  ///< forks_of_this_process() when the iterator was made
  std::unique_ptr<Stage> root_;
  std::unique_ptr<ReadyEvent> ready_event_;
  std::unique_ptr<ReadyElements> ready_;  ///< null until somebody asks without waiting
  std::unique_ptr<Watchdog> watchdog_;    ///< null unless asked for
  const TunerOptions tuner_options_;
  bool steps_are_late_ = false;
  std::atomic<bool> may_tune_;  ///< false from freeze_tuning() on
  // The consumer sets it once. Others read the pointer only if is_tuning_ is true.
  std::unique_ptr<TunerThread> tuner_;
  std::atomic<bool> is_tuning_{false};
  std::optional<std::stop_callback<std::function<void()>>> stop_;
};

/// Returns the options with which an iteration begins at a step, for Dataset::at().
IterateOptions begin_at(const Node& node, std::uint64_t step, IterateOptions options);
/// Throws unless Dataset::at() has found the element, and found that of any run.
void check_found(const Node& node, const Checkpoint& behind, bool is_found, bool is_resumed);

}  // namespace infeed::detail
