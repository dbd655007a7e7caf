#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Why: "which stage is slow?" must be answerable at any moment of a running pipeline. Every pull
/// is counted and timed where stages meet (no stage does it itself); reading a snapshot disturbs
/// nobody.
namespace infeed {

/// One stage's figures since the iterator was made; all passes of a repeat add up in one place.
struct StageStatistics {
  std::string path;  ///< "prefetch < batch(1024) < map": from the consumer's side to this stage
  std::string name;
  int depth = 0;               ///< 0 is the stage next to the consumer
  std::uint64_t elements = 0;  ///< handed over, errors included
  std::uint64_t errors = 0;    ///< of them; one that passes several stages counts in each
  /// Records that no element and no error stands for, where an index beside the file knows their
  /// number: behind a damaged one (DamagePolicy::fail), or in ranges that were passed over
  /// (skip_and_resynchronise).
  std::uint64_t dropped_records = 0;
  /// The bytes that were given up for both reasons, the damaged ones included; in a compressed file
  /// decompressed ones, where their number is known.
  std::uint64_t dropped_bytes = 0;
  std::uint64_t pulls = 0;         ///< how often it was asked
  std::uint64_t total_ns = 0;      ///< inside it, upstream included (of several threads: the sum)
  std::uint64_t exclusive_ns = 0;  ///< inside it alone; for a stage with threads: all their work
  std::uint64_t wait_ns = 0;       ///< its consumer waited for it (stages with a queue)
  std::uint64_t full_ns = 0;       ///< its driver waited for room (stages with a queue)
  std::uint64_t buffered_elements = 0;  ///< held right now
  std::uint64_t buffered_bytes = 0;
};

struct PipelineStatistics {
  std::vector<StageStatistics> stages;  ///< from the consumer's side to the sources
  /// A table that a person can read.
  std::string table() const;
};

namespace detail {

/// The counters behind a StageStatistics. Any thread may add; relaxed, since nobody derives order
/// from them.
struct StageCounters {
  std::string name;
  StageCounters* consumer = nullptr;     ///< the stage that pulls this one; null at the root
  std::atomic<bool> has_threads{false};  ///< its upstream runs in another thread than its own pulls
  std::atomic<std::uint64_t> elements{0};
  std::atomic<std::uint64_t> errors{0};
  std::atomic<std::uint64_t> skipped{0};  ///< passed over unseen: only shows that something moves
  std::atomic<std::uint64_t> errors_arisen{0};  ///< those that came from no stage before it
  std::atomic<std::uint64_t> dropped_records{0};
  std::atomic<std::uint64_t> dropped_bytes{0};
  std::atomic<std::uint64_t> pulls{0};
  std::atomic<std::uint64_t> ticks{0};
  std::atomic<std::uint64_t> work_ticks{0};
  std::atomic<std::uint64_t> wait_ticks{0};
  std::atomic<std::uint64_t> full_ticks{0};
  std::atomic<std::uint64_t> buffered_elements{0};
  std::atomic<std::uint64_t> buffered_bytes{0};
  std::atomic<int> inside{0};  ///< threads that are pulling it now

  /// "prefetch < batch < map": from the consumer's side to this stage.
  std::string path() const;

  /// Counts a pull as under way.
  class Inside {
   public:
    explicit Inside(StageCounters& counters) : counters_(counters) {
      counters_.inside.fetch_add(1, std::memory_order_relaxed);
    }
    ~Inside() { counters_.inside.fetch_sub(1, std::memory_order_relaxed); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    StageCounters& counters_;
  };

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) {
    counter.fetch_add(amount, std::memory_order_relaxed);
  }
};

}  // namespace detail
}  // namespace infeed
