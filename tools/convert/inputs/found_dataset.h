#pragma once

#include <string>
#include <vector>

#include "convert/conversion_plan.h"
#include "convert/manifest.h"

/// Why: before a conversion writes anything it must know what of its name is there already: whose
/// it is, how far it got, and what would be lost.
namespace infeed::tools {

struct FoundDataset {
  enum class Kind {
    nothing,
    unfinished,  ///< of the same plan
    finished,    ///< of the same plan, each shard there with its size
    other,       ///< anything else
  };
  Kind kind = Kind::nothing;
  std::string description;         ///< of `other`: what it is and how it differs
  Manifest manifest;               ///< of `finished`
  std::vector<std::string> files;  ///< shards, indices, partial files of that name; sorted
};

/// `names` and `plan` belong together. Errors: of listing the folder.
FoundDataset find_dataset(const DatasetNames& names, const ConversionPlan& plan);

/// Shards, their indices and partial files of that name, with any number of shards; sorted. None
/// when the folder isn't there.
std::vector<std::string> list_dataset_files(const DatasetNames& names);

/// Removes manifest, plan and journal's content first, so that nobody takes the rest for whole.
void remove_dataset(const DatasetNames& names, const std::vector<std::string>& files);

}  // namespace infeed::tools
