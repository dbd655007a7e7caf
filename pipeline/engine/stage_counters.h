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

namespace infeed {
class Node;
}

namespace infeed::detail {

/// More elements than anybody counts to.
inline constexpr std::uint64_t kAllElements = ~std::uint64_t{0};

struct StageCounters;

/// A stage's place in the pipeline and its kind: all that is known before it runs.
struct StageDescription {
  StageCounters* consumer = nullptr;     ///< the stage that pulls this one; null at the root
  const StageCounters* outer = nullptr;  ///< the flat_map in whose inner datasets it is, or null
  const Node* node = nullptr;            ///< null for a queue that is no stage
  int depth = 0;                         ///< stages between it and the iterator's consumer
  std::string name;
  std::string given_name;
  std::string label;  ///< "map[1] 'augment'"
  StageTraits traits;
  bool draws = false;  ///< it draws random numbers
  /// It or a stage before it draws, or stages in its inner datasets may.
  bool passes_may_differ = false;
};

/// Time spent, and the CPU time in the parts of it that were sampled.
struct SpentTime {
  std::atomic<std::uint64_t> ticks{0};
  std::atomic<std::uint64_t> sampled_ticks{0};
  std::atomic<std::uint64_t> sampled_cpu_ns{0};

  void add_sample(std::uint64_t sample_ticks, std::uint64_t cpu_ns) {
    sampled_ticks.fetch_add(sample_ticks, std::memory_order_relaxed);
    sampled_cpu_ns.fetch_add(cpu_ns, std::memory_order_relaxed);
  }
};

/// The counters that each pull of a stage reads or writes, side by side.
struct PullCounters {
  std::atomic<std::uint64_t> passes{0};  ///< begun so far
  std::atomic<bool> has_threads{false};  ///< its upstream runs in another thread than its own pulls
  std::atomic<std::uint64_t> elements{0};
  std::atomic<std::uint64_t> pulls{0};
  SpentTime pull_time;  ///< with its inputs' pulls; PullSample samples it
  std::atomic<std::uint64_t> pull_begin_ticks{0};  ///< when the pull under way began; 0: none
  std::atomic<int> inside{0};                      ///< threads that are pulling it now
  std::atomic<std::uint64_t> errors{0};
  /// Bytes that an element owns elsewhere, about, plus 1; 0: no element has been seen.
  std::atomic<std::uint64_t> payload_each{0};
};

/// The counters behind a StageStatistics. Any thread may add; relaxed, since nobody derives order
/// from them.
struct StageCounters : StageDescription, PullCounters {
  struct Amount {
    std::atomic<std::uint64_t> elements{0};
    std::atomic<std::uint64_t> bytes{0};

    void set(std::uint64_t new_elements, std::uint64_t new_bytes) {
      elements.store(new_elements, std::memory_order_relaxed);
      bytes.store(new_bytes, std::memory_order_relaxed);
    }
  };

  std::atomic<std::uint64_t> skipped{0};        ///< passed over unseen; shows that something moves
  std::atomic<std::uint64_t> errors_arisen{0};  ///< errors that came from no stage before it
  /// IteratorCounters::note_passing_left_out()
  std::atomic<std::uint64_t> passing_left_out{0};
  std::vector<std::atomic<std::uint64_t>> own;  ///< its kind's, as traits.counts names them
  SpentTime work_time;                          ///< time that its own threads spent
  /// Work of the last pass, with its input's, if an InputDriver pulls that; 0: no pass has ended.
  std::atomic<std::uint64_t> last_pass_ticks{0};
  std::atomic<std::uint64_t> wait_ticks{0};
  std::atomic<std::uint64_t> full_ticks{0};
  Amount sampled;  ///< elements and bytes that sampled pulls brought
  /// Calls whose own time was 2^i to 2^(i+1) ns, if the iterator records.
  std::array<std::atomic<std::uint32_t>, 40> calls_by_log2_ns{};
  std::atomic<bool> has_own_calls{false};  ///< the calls are its function's, not its pulls
  std::atomic<int> parallelism{1};
  Amount queue_max;
  std::atomic<bool> is_tuned{false};  ///< autotune chose parallelism or the queue
  Amount buffered;                    ///< now

  /// Returns how many of the input's first elements the pipeline's first `of_root` are made of;
  /// kAllElements if that isn't known.
  std::uint64_t input_wanted(std::uint64_t of_root) const;

  /// "prefetch < batch < map": from the consumer's side to this stage. The last 64 stages at most:
  /// the whole paths of n stages are n * n labels.
  std::string path() const;

  /// Counts a pull as under way. `is_shared`: stages in other threads may write the same counters.
  /// Otherwise an addition does without its lock (6 ns).
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

  /// Counts a pull that is over.
  void note_pull(std::uint64_t took_ticks, std::uint64_t slots, bool is_shared) {
    if (is_shared) {
      add(pull_time.ticks, took_ticks);
      add(pulls, 1);
      add(elements, slots);
    } else {
      add_alone(pull_time.ticks, took_ticks);
      add_alone(pulls, std::uint64_t{1});
      add_alone(elements, slots);
    }
  }

  /// Counts `count` calls that took `ns` each.
  void note_calls(std::uint64_t ns, std::uint64_t count, bool is_shared) {
    const auto log2 = static_cast<std::size_t>(std::bit_width(ns | 1)) - 1;
    auto& calls = calls_by_log2_ns[std::min(log2, calls_by_log2_ns.size() - 1)];
    if (is_shared) {
      calls.fetch_add(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
    } else {
      add_alone(calls, static_cast<std::uint32_t>(count));
    }
  }

  /// Counts a source's error that was passed over. It is an element, too.
  void note_skipped_error() {
    add(errors, 1);
    add(errors_arisen, 1);
  }

  /// Sets how many threads work for the stage, and whether autotune chose that.
  void note_parallelism(int threads, bool tuned) {
    parallelism.store(threads, std::memory_order_relaxed);
    is_tuned.store(tuned, std::memory_order_relaxed);
  }
  /// Sets how much its queue may hold.
  void note_queue_limits(std::uint64_t count, std::uint64_t bytes, bool tuned) {
    queue_max.set(count, bytes);
    is_tuned.store(tuned, std::memory_order_relaxed);
  }

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) {
    counter.fetch_add(amount, std::memory_order_relaxed);
  }
  /// Adds without a lock. No other thread may add.
  template <class T>
  static void add_alone(std::atomic<T>& counter, T amount) {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
};

}  // namespace infeed::detail
