#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <infeed/records/file_sum.h>

#include "convert/conversion_plan.h"
#include "convert/convert.h"
#include "convert/dataset_store.h"
#include "convert/example_order.h"
#include "convert/example_split.h"
#include "convert/manifest.h"

/// Why: shards don't depend on each other, so any thread of any process can make any of them.
namespace infeed::tools {

/// Returns the number of threads that make shards.
int shard_threads(const ConvertOptions& options);

/// Returns the folder in which a rank makes the shards of one that is silent.
std::filesystem::path aside_folder_of(const DatasetNames& names, int rank);

/// Thread-safety: any threads, each with a reader of its own.
class ShardMaker {
 public:
  struct Rules {
    /// Comparison of a shard that was made before with what the journal says of it.
    FileCheck check = FileCheck::content;
    /// False: a shard that differs is an error, and so is one that the journal doesn't have.
    bool makes_shards = true;
    int rank = 0;  ///< number of this process among those that make shards together
  };
  /// `plan` and what the others refer to must outlive the maker.
  ShardMaker(const ExampleInput& input, const ConvertOptions& options, const ConversionPlan& plan,
             const Rules& rules);

  struct Shard {
    std::uint32_t number = 0;
    const ShardEntry* committed = nullptr;  ///< entry in a journal; null: there is none
    /// True if a silent process may wake up and go on writing the same shard: this one is made in a
    /// folder of its own and renamed into place.
    bool is_aside = false;
  };
  struct Made {
    ShardEntry entry;
    bool was_there = false;
  };
  /// Makes a shard, or finds it made. Returns nothing after a stop or a failure of any thread. Throws
  /// as convert() does.
  std::optional<Made> make(const Shard& shard, ExampleReader& reader);

  /// Lets make() return soon, at any thread.
  void end() { must_end_ = true; }
  std::uint64_t positions(std::uint32_t shard) const {
    return first_position(shard + 1) - first_position(shard);
  }
  /// Number of examples that this process has read.
  std::uint64_t examples_done() const { return examples_done_; }

 private:
  bool must_end() const { return options_.stop.stop_requested() || must_end_; }
  std::optional<std::string> difference(const ShardEntry& entry) const;
  bool write_shard(const std::string& file, ExampleReader& reader, ShardEntry& entry);
  bool write_aside(const std::string& place, ExampleReader& reader, ShardEntry& entry);
  bool write_in(const std::filesystem::path& folder, const std::string& place,
                ExampleReader& reader, ShardEntry& entry);
  bool read_example(std::uint64_t index, ExampleReader& reader, ShardEntry& entry,
                    std::string& bytes);
  bool read_wanted(std::uint64_t index, ExampleReader& reader, ShardEntry& entry,
                   std::string& bytes);
  std::uint64_t first_position(std::uint32_t shard) const;

  const ExampleInput& input_;
  const ConvertOptions& options_;
  const std::vector<std::string>& shards_;
  const Rules rules_;
  const std::vector<std::string> columns_;
  const ExampleOrder order_;
  const ExampleSplit split_;
  const DatasetStore store_;
  std::atomic<std::uint64_t> examples_done_{0};
  std::atomic<std::uint64_t> quarantined_{0};
  std::atomic<bool> must_end_{false};
};

}  // namespace infeed::tools
