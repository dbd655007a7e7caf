#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <infeed/pipeline/stage_traits.h>

#include "engine/threads/clock.h"

namespace infeed::detail {

/// The counters behind a StageStatistics. Any thread may add; relaxed, since nobody derives order
/// from them.
struct StageCounters {
  std::string name;
  std::string given_name;
  std::string label;  ///< "map[1] 'augment'"
  StageTraits traits;
  StageCounters* consumer = nullptr;     ///< the stage that pulls this one; null at the root
  const StageCounters* outer = nullptr;  ///< the flat_map in whose inner datasets it is, or null
  bool draws = false;  ///< it or a stage before it draws random numbers: passes may differ
  std::atomic<std::uint64_t> passes{0};  ///< that were begun
  std::atomic<bool> has_threads{false};  ///< its upstream runs in another thread than its own pulls
  // The counters that each pull writes, side by side.
  std::atomic<std::uint64_t> elements{0};
  std::atomic<std::uint64_t> pulls{0};
  std::atomic<std::uint64_t> ticks{0};
  std::atomic<std::uint64_t> pull_begin_ticks{0};  ///< when the pull under way began; 0: none
  std::atomic<int> inside{0};                      ///< threads that are pulling it now
  std::atomic<std::uint64_t> errors{0};
  /// Bytes that an element owns elsewhere, about, and 1; 0: none has been seen.
  std::atomic<std::uint64_t> payload_each{0};
  std::atomic<std::uint64_t> skipped{0};  ///< passed over unseen: only shows that something moves
  std::atomic<std::uint64_t> errors_arisen{0};  ///< those that came from no stage before it
  std::vector<std::atomic<std::uint64_t>> own;  ///< its kind's, as traits.counts names them
  std::atomic<std::uint64_t> work_ticks{0};
  std::atomic<std::uint64_t> wait_ticks{0};
  std::atomic<std::uint64_t> full_ticks{0};
  // Measured by PullSample of its pulls, its inputs' included, and of the work of its own threads:
  // times, and what the CPU clocks made of them.
  std::atomic<std::uint64_t> sampled_ticks{0};
  std::atomic<std::uint64_t> sampled_cpu_ns{0};
  std::atomic<std::uint64_t> sampled_elements{0};
  std::atomic<std::uint64_t> sampled_bytes{0};
  std::atomic<std::uint64_t> sampled_work_ticks{0};
  std::atomic<std::uint64_t> sampled_work_cpu_ns{0};
  /// Where the iterator records: calls whose own time was 2^i to 2^(i+1) ns.
  std::array<std::atomic<std::uint32_t>, 40> calls_by_log2_ns{};
  std::atomic<bool> has_own_calls{false};  ///< these are of its function, not of its pulls
  std::atomic<int> parallelism{1};
  std::atomic<std::uint64_t> queue_elements_max{0};
  std::atomic<std::uint64_t> queue_bytes_max{0};
  std::atomic<bool> is_tuned{false};  ///< autotune chose these
  std::atomic<std::uint64_t> buffered_elements{0};
  std::atomic<std::uint64_t> buffered_bytes{0};

  /// "prefetch < batch < map": from the consumer's side to this stage.
  std::string path() const;

  /// Counts a pull as under way. `is_shared`: other stages, which write the same counters, may be
  /// at work in other threads; where none are, the lock of an addition (6 ns) isn't taken.
  class Inside {
   public:
    Inside(StageCounters& counters, bool is_shared) : counters_(counters), is_shared_(is_shared) {
      add(1);
    }
    ~Inside() {
      counters_.pull_begin_ticks.store(0, std::memory_order_relaxed);
      add(-1);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    void add(int change) {
      if (is_shared_) {
        counters_.inside.fetch_add(change, std::memory_order_relaxed);
      } else {
        add_alone(counters_.inside, change);
      }
    }

    StageCounters& counters_;
    const bool is_shared_;
  };

  /// A pull is over.
  void note_pull(std::uint64_t took_ticks, std::uint64_t slots, bool is_shared) {
    if (is_shared) {
      add(ticks, took_ticks);
      add(pulls, 1);
      add(elements, slots);
    } else {
      add_alone(ticks, took_ticks);
      add_alone(pulls, std::uint64_t{1});
      add_alone(elements, slots);
    }
  }

  /// `count` calls took so long each.
  void note_calls(std::uint64_t ns, std::uint64_t count, bool is_shared) {
    const auto log2 = static_cast<std::size_t>(std::bit_width(ns | 1)) - 1;
    auto& calls = calls_by_log2_ns[std::min(log2, calls_by_log2_ns.size() - 1)];
    if (is_shared) {
      calls.fetch_add(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
    } else {
      add_alone(calls, static_cast<std::uint32_t>(count));
    }
  }

  /// Sets what the stage holds now.
  void note_buffered(std::uint64_t count, std::uint64_t bytes) {
    buffered_elements.store(count, std::memory_order_relaxed);
    buffered_bytes.store(bytes, std::memory_order_relaxed);
  }

  /// A source's error that was passed over: it is an element, too.
  void note_skipped_error() {
    add(errors, 1);
    add(errors_arisen, 1);
  }

  /// How many threads work for the stage, and whether autotune chose that.
  void note_parallelism(int threads, bool tuned) {
    parallelism.store(threads, std::memory_order_relaxed);
    is_tuned.store(tuned, std::memory_order_relaxed);
  }
  /// How much its queue may hold.
  void note_queue_limits(std::uint64_t count, std::uint64_t bytes, bool tuned) {
    queue_elements_max.store(count, std::memory_order_relaxed);
    queue_bytes_max.store(bytes, std::memory_order_relaxed);
    is_tuned.store(tuned, std::memory_order_relaxed);
  }

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) {
    counter.fetch_add(amount, std::memory_order_relaxed);
  }
  /// Where no other thread adds.
  template <class T>
  static void add_alone(std::atomic<T>& counter, T amount) {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
};

}  // namespace infeed::detail
