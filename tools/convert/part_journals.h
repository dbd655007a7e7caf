#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <infeed/records/files.h>

#include "convert/conversion_plan.h"
#include "convert/journal.h"
#include "convert/manifest.h"

/// Why: several processes, on one machine or on many, convert one dataset. Each has a journal of its
/// own, so that none waits for another, and whoever finishes knows what all have made:
///   .train.share-00001-of-00003.journal   of `--shard 1/3`
/// The first line is the plan, as one line of JSON; the others are finished shards. A journal is the
/// lock of its part, as that of one process is (journal.h).
namespace infeed::tools {

/// Returns "--shard 1/3".
std::string part_name(const Shard& part);

std::string part_journal_file(const DatasetNames& names, const Shard& part);

/// Returns the line of a journal that names the plan.
std::string plan_line(const ConversionPlan& plan);

/// Returns the finished shards in these lines, by their number. Callers check the files.
std::map<std::uint32_t, ShardEntry> committed_shards(const std::vector<std::string>& journal_lines);

/// Returns the parts that have a journal, sorted by its name.
std::vector<Shard> list_parts(const DatasetNames& names);

/// Returns what a part, which may be running, has made with this plan; nothing if it has another.
std::map<std::uint32_t, ShardEntry> read_part(const DatasetNames& names, const Shard& part,
                                              const ConversionPlan& plan);

/// Returns the plan's text that stands in a part's journal; empty if the part was killed before it
/// wrote it.
std::string plan_of_part(const std::vector<std::string>& journal_lines);

/// The journals of all parts, locked, so that none of them is running and none can begin.
class LockedParts {
 public:
  /// Throws failed_precondition, with the part's name, if one is running.
  LockedParts(const DatasetNames& names, Durability durability);

  /// Returns the shards that parts with this plan have made.
  std::map<std::uint32_t, ShardEntry> committed(const ConversionPlan& plan) const;
  /// Throws failed_precondition, with the differences, if a part was made with another plan.
  void require_plan(const ConversionPlan& plan) const;
  /// Returns what to run for missing shards, as "--shard 1/3, --shard 2/3"; empty if the parts don't
  /// say it.
  std::string parts_of(const std::vector<std::uint32_t>& shards) const;
  /// Removes the journals.
  void remove();

 private:
  struct Part {
    Shard share;
    std::string file;
    std::unique_ptr<Journal> journal;
  };
  std::vector<Part> parts_;
};

}  // namespace infeed::tools
