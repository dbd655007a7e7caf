#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "engine/tuning/knobs.h"

namespace infeed::detail {

/// How many of the threads that read a stage's files ahead work now, which is the tuner's where the
/// user left it to it, and the account of what they and the stage's own pulls do.
///
/// Invariants: what the threads and the tuner touch is atomic; the rest belongs to the thread that
/// pulls the stage. It outlives the files.
class ReaderThreads {
 public:
  ReaderThreads(IteratorContext& run, StageCounters& counters) : run_(run), counters_(counters) {}
  ReaderThreads(const ReaderThreads&) = delete;
  ReaderThreads& operator=(const ReaderThreads&) = delete;

  /// A file with so many is there; 1: the thread that pulls reads it.
  void begin(int threads, bool is_tuned);
  /// As ParallelRecordReaderOptions has them.
  std::shared_ptr<const std::atomic<unsigned>> now() const { return now_; }
  void decode(const std::function<void()>& work);
  void wait(const std::function<void()>& work);

  /// While it lives the thread that pulls reads: what it doesn't wait is the stage's work.
  class Reading {
   public:
    explicit Reading(ReaderThreads& threads);
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    ReaderThreads& threads_;
    const std::uint64_t begin_ticks_;
    const std::uint64_t waited_before_ticks_;
  };

 private:
  void note_parallelism(std::int64_t threads, bool is_tuned);

  IteratorContext& run_;
  StageCounters& counters_;
  const std::shared_ptr<std::atomic<unsigned>> now_ = std::make_shared<std::atomic<unsigned>>(0);
  std::atomic<std::uint64_t> decoded_{0};  ///< pieces of work
  std::uint64_t waited_ticks_ = 0;
  std::optional<Knob> knob_;  ///< last: the tuner sets the others by it
};

}  // namespace infeed::detail
