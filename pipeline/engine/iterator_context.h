#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <infeed/pipeline/executor.h>
#include <infeed/pipeline/iterate_options.h>
#include <infeed/pipeline/memory_account.h>
#include <infeed/pipeline/stage.h>
#include <infeed/pipeline/statistics.h>

#include "engine/cancellation.h"
#include "engine/iterator_counters.h"
#include "engine/reader_resources.h"
#include "engine/recording/recorder.h"
#include "engine/resume/bookmarks.h"
#include "engine/seeds/run_seeds.h"
#include "engine/threads/thread_budget.h"
#include "engine/tuning/knobs.h"
#include "engine/work/room_waker.h"

namespace infeed {

/// The state that all stages of one iterator share: cancellation, memory account, executor,
/// counters.
class IteratorContext : public detail::Cancellation {
 public:
  explicit IteratorContext(const IterateOptions& options);

  /// The seeds that the stages of this run draw from.
  detail::RunSeeds& seeds() { return seeds_; }
  const detail::RunSeeds& seeds() const { return seeds_; }

  MemoryAccount& memory() { return memory_; }
  /// Those who work ahead as far as there is room in memory().
  detail::RoomWakers& room_wakers() { return room_wakers_; }
  detail::IteratorCounters& counters() { return counters_; }
  const detail::IteratorCounters& counters() const { return counters_; }
  /// Returns the caller's executor, or else the iterator's own. That one is made when a stage first
  /// asks: most pipelines never do, and reading the CPU quota takes 80 us.
  Executor& executor();
  /// Returns executor().concurrency(), but makes no executor.
  int concurrency();
  detail::ReaderResources& readers() { return readers_; }
  const detail::ReaderResources& readers() const { return readers_; }
  bool is_inline() const { return given_inline_; }
  detail::ThreadBudget& threads() { return threads_; }
  /// The settings that the stages leave to the tuner.
  detail::Knobs& knobs() { return knobs_; }
  detail::Bookmarks& bookmarks() { return bookmarks_; }
  /// How many elements of this run the consumer will ask for, as far as it has said
  /// (read_ahead_until()). From any thread.
  std::uint64_t elements_wanted() const { return wanted_.load(std::memory_order_relaxed); }
  void set_elements_wanted(std::uint64_t elements) {
    wanted_.store(elements, std::memory_order_relaxed);
  }
  /// Returns true if stages keep where their last elements came from.
  bool keeps_places() const { return recorder_ != nullptr || traces_; }
  /// Returns true if each element is to be traced, and each row of a batch.
  bool traces() const { return traces_; }
  /// Returns null unless the iterator records.
  detail::Recorder* recorder() const { return recorder_.get(); }
  /// Returns the recording's state, also if it couldn't be started.
  RecordingStatus recording() const;
  /// Names the calling thread and tells the caller (IterateOptions::on_thread_start). Each thread
  /// of a stage begins with this call.
  void begin_thread(const std::string& name) const;
  const std::function<void(std::string_view)>& on_thread_start() const { return on_thread_start_; }

  /// Returns `context` without the pass and the key that tell the inner datasets of a flat_map
  /// apart. A cache opens its input with it, so that its content doesn't depend on who fills it.
  StageContext shared_by_all(StageContext context) const;

 private:
  int cores();

  detail::RunSeeds seeds_;
  MemoryAccount memory_;
  detail::RoomWakers room_wakers_;
  const bool given_inline_;
  detail::ThreadBudget threads_;
  const std::function<void(std::string_view)> on_thread_start_;

  std::mutex executor_mutex_;
  std::shared_ptr<Executor> executor_;
  int cores_ = 0;  ///< 0: not asked for yet
  detail::ReaderResources readers_{memory_};

  std::atomic<std::uint64_t> wanted_{detail::kAllElements};
  detail::IteratorCounters counters_;
  detail::Bookmarks bookmarks_;
  const bool traces_;
  detail::Knobs knobs_;
  RecordingStatus recording_;                   ///< if there is no recorder
  std::unique_ptr<detail::Recorder> recorder_;  ///< last: it uses the members above
};

}  // namespace infeed
