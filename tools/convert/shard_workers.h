#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "convert/conversion_plan.h"
#include "convert/convert.h"
#include "convert/journal.h"
#include "convert/manifest.h"
#include "convert/shard_maker.h"
#include "convert/shard_queue.h"

/// Why: threads take one shard after the other; each that a thread writes is either committed in the
/// journal or made again. Other ranks of a job may take shards from the same queue.
namespace infeed::tools {

class ShardWorkers {
 public:
  struct Task {
    /// Shards that a journal calls finished. They are compared first.
    std::map<std::uint32_t, ShardEntry> committed = {};
    std::vector<std::uint32_t> shards;  ///< to be made unless they are committed; ascending
    ShardMaker::Rules rules = {};
  };
  ShardWorkers(const ExampleInput& input, const ConvertOptions& options, const ConversionPlan& plan,
               Journal& journal, Task task);

  /// Returns when the task's shards are committed; throws as convert() does.
  void run();
  /// Returns the entries in the order of the task.
  std::vector<ShardEntry> take_entries();
  /// Returns the statistics of all shards of the task, summed up in their order. The entries have
  /// none left.
  ColumnStatistics take_statistics() { return std::move(sums_.statistics); }
  std::uint32_t shards_found() const { return shards_found_; }

  // For other ranks, from any thread while run() is under way.
  ShardQueue& queue() { return queue_; }
  /// Returns what a journal says of a shard; null if it doesn't have it.
  const ShardEntry* committed(std::uint32_t shard) const;
  /// Lets run() return soon, with an error.
  void end();
  /// Commits a shard that another rank made, or found, unless somebody else's is committed already.
  void take(ShardMaker::Made made);

 private:
  void work(ExampleReader& reader);
  void sum_up(std::size_t finished);

  const ExampleInput& input_;
  const ConvertOptions& options_;
  const std::vector<std::string>& shards_;
  Journal& journal_;
  const Task task_;
  ShardMaker maker_;
  ShardQueue queue_;
  std::vector<ShardEntry> entries_;
  // Statistics are summed up as shards finish. Those of a thousand shards with different columns
  // would not fit into memory, and too many columns are reported at once, not at the end.
  struct Sums {
    std::vector<bool> is_finished;  ///< by entry
    std::size_t entries = 0;        ///< number of entries summed up, from the first one on
    ColumnStatistics statistics = ColumnStatistics();
  };
  Sums sums_;

  std::mutex mutex_;  ///< guards what was summed up

  std::uint64_t examples_total_ = 0;
  std::atomic<std::uint64_t> examples_found_{0};
  std::atomic<std::uint32_t> shards_done_{0};
  std::atomic<std::uint32_t> shards_found_{0};
};

}  // namespace infeed::tools
