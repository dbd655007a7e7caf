#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "convert/example_order.h"
#include "convert/example_split.h"
#include "convert/journal.h"
#include "convert/manifest.h"

/// Why: shards don't depend on each other, so that threads take one after the other, and what one
/// has written is either committed in the journal or made again.
namespace infeed::tools {

class ShardWorkers {
 public:
  struct Task {
    /// What the journal says is finished already. It is read and its checksums are compared before
    /// it is believed.
    std::map<std::uint32_t, ShardEntry> committed = {};
    std::vector<std::uint32_t> shards;  ///< to be made, if they aren't committed
  };
  ShardWorkers(const ExampleInput& input, const ConvertOptions& options,
               const std::vector<std::string>& shards, Journal& journal, Task task);

  /// Returns when the task's shards are committed; throws as convert() does.
  void run();
  /// In the order of the task.
  std::vector<ShardEntry> take_entries();
  /// Of all shards of the task, summed up in their order; the entries have none of their own left.
  ColumnStatistics take_statistics() { return std::move(statistics_); }
  std::uint32_t shards_found() const { return shards_found_; }

 private:
  bool must_end() const { return options_.stop.stop_requested() || failed_; }
  int thread_count() const;
  void work() noexcept;
  bool is_intact(const ShardEntry& entry) const;
  void sum_up(std::size_t finished);
  bool write_shard(std::uint32_t shard, ExampleReader& reader, ShardEntry& entry);
  bool read_example(std::uint64_t index, ExampleReader& reader, ShardEntry& entry,
                    std::string& bytes);
  bool read_wanted(std::uint64_t index, ExampleReader& reader, ShardEntry& entry,
                   std::string& bytes);
  void report(int threads);
  std::uint64_t first_position(std::uint32_t shard) const;
  std::uint64_t positions(std::uint32_t shard) const {
    return first_position(shard + 1) - first_position(shard);
  }

  const ExampleInput& input_;
  const ConvertOptions& options_;
  const std::vector<std::string>& shards_;
  const std::vector<std::string> columns_;
  const std::vector<ColumnKind> kinds_;
  const ExampleOrder order_;
  const ExampleSplit split_;
  Journal& journal_;
  const Task task_;
  std::vector<ShardEntry> entries_;
  // Of a thousand shards with columns of their own, all of them would be too many for the memory, and
  // that there are too many is said when it is so rather than at the end.
  std::vector<bool> is_finished_;  ///< by entry
  std::size_t summed_up_ = 0;      ///< so many entries from the first one
  ColumnStatistics statistics_;

  std::uint64_t examples_total_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint32_t> shards_done_{0};
  std::atomic<std::uint32_t> shards_found_{0};
  std::atomic<std::uint64_t> examples_done_{0};
  std::atomic<std::uint64_t> examples_found_{0};
  std::atomic<std::uint64_t> quarantined_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  int threads_done_ = 0;
  std::exception_ptr error_;
};

}  // namespace infeed::tools
