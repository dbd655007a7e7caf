#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <infeed/records/file_sum.h>

#include "convert/convert.h"
#include "convert/dataset_store.h"
#include "convert/example_order.h"
#include "convert/example_split.h"
#include "convert/journal.h"
#include "convert/manifest.h"

/// Why: shards don't depend on each other. Threads take one after the other; each shard that a
/// thread writes is either committed in the journal or made again.
namespace infeed::tools {

class ShardWorkers {
 public:
  struct Task {
    /// Shards that the journal calls finished. They are read and their checksums compared first.
    std::map<std::uint32_t, ShardEntry> committed = {};
    std::vector<std::uint32_t> shards;     ///< shards to be made, unless they are committed
    FileCheck check = FileCheck::content;  ///< comparison of committed shards
    bool makes_shards = true;  ///< false: a committed shard that differs is an error, and all are
                               ///< committed
    /// Called by each thread for the place of its next shard in `shards`; nothing ends it. Empty: all
    /// shards are made, in their order. With it there are no statistics.
    std::function<std::optional<std::size_t>()> next = {};
  };
  ShardWorkers(const ExampleInput& input, const ConvertOptions& options,
               const std::vector<std::string>& shards, Journal& journal, Task task);

  /// Returns when the task's shards are committed; throws as convert() does.
  void run();
  /// Returns the entries in the order of the task.
  std::vector<ShardEntry> take_entries();
  /// Returns the statistics of all shards of the task, summed up in their order. The entries have
  /// none left.
  ColumnStatistics take_statistics() { return std::move(sums_.statistics); }
  std::uint32_t shards_found() const { return shards_found_; }

 private:
  bool must_end() const { return options_.stop.stop_requested() || failed_; }
  int thread_count() const;
  void make(std::size_t entry, ExampleReader& reader);
  void make_dealt(ExampleReader& reader);
  std::optional<std::string> difference(const ShardEntry& entry) const;
  void sum_up(std::size_t finished);
  bool write_shard(std::uint32_t shard, ExampleReader& reader, ShardEntry& entry);
  bool read_example(std::uint64_t index, ExampleReader& reader, ShardEntry& entry,
                    std::string& bytes);
  bool read_wanted(std::uint64_t index, ExampleReader& reader, ShardEntry& entry,
                   std::string& bytes);
  std::uint64_t first_position(std::uint32_t shard) const;
  std::uint64_t positions(std::uint32_t shard) const {
    return first_position(shard + 1) - first_position(shard);
  }

  const ExampleInput& input_;
  const ConvertOptions& options_;
  const std::vector<std::string>& shards_;
  const std::vector<std::string> columns_;
  const ExampleOrder order_;
  const ExampleSplit split_;
  const DatasetStore store_;
  Journal& journal_;
  const Task task_;
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
  std::atomic<std::uint32_t> shards_done_{0};
  std::atomic<std::uint32_t> shards_found_{0};
  std::atomic<std::uint64_t> examples_done_{0};
  std::atomic<std::uint64_t> examples_found_{0};
  std::atomic<std::uint64_t> quarantined_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace infeed::tools
