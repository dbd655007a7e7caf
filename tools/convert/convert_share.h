#pragma once

#include "convert/conversion_plan.h"
#include "convert/convert.h"
#include "convert/dataset_store.h"
#include "convert/part_journals.h"

namespace infeed::tools {

/// A process's own part of a conversion: its journal is locked, and the plan is in place, the same
/// for all parts. Whichever part comes first writes it.
class ConversionPart {
 public:
  /// Throws failed_precondition while this part, or a process that makes or finishes the whole
  /// dataset, is running; already_exists for a dataset of another plan.
  ConversionPart(const ExampleInput& input, const ConvertOptions& options,
                 const DatasetNames& names, const ConversionPlan& plan, const Shard& share);

  /// True if the dataset is complete. There is nothing to do then, and no journal.
  bool was_complete() const { return complete_.has_value(); }
  Manifest take_complete() { return std::move(*complete_); }
  Journal& journal() { return journal_; }
  const DatasetStore& store() const { return store_; }
  /// Syncs the side files of the shards that were made, or hands the journal to the store.
  void end(const std::vector<ShardEntry>& shards) const;
  /// Begins anew at the next call, and removes these shards, which may hold a mixture.
  void forget(const std::vector<std::string>& shards);
  /// Returns the shards that this part made before, or others under other names.
  std::map<std::uint32_t, ShardEntry> committed() const;

 private:
  std::string fetched_journal() const;
  void begin(const ExampleInput& input, const ConvertOptions& options);

  const DatasetNames& names_;
  const ConversionPlan& plan_;
  const Shard share_;
  const Durability durability_;
  const DatasetStore store_;
  Journal journal_;
  std::optional<Manifest> complete_;
};

/// convert() with `share`.
ConvertResult convert_share(const ExampleInput& input, const ConvertOptions& options,
                            const DatasetNames& names, const ConversionPlan& plan);

}  // namespace infeed::tools
