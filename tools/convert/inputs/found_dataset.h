#pragma once

#include <optional>
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
    damaged,     ///< the same, but for some shards
    other,       ///< anything else
  };
  Kind kind = Kind::nothing;
  std::string description;         ///< of `other`: what it is and how it differs
  Manifest manifest;               ///< of `finished` and `damaged`
  std::vector<WrongShard> wrong;   ///< of `damaged`
  std::vector<std::string> files;  ///< shards, indices, partial files of that name; sorted
};

/// `names` and `plan` belong together. Shards of a complete dataset are judged by their size, which
/// costs nothing, or with options.check_content by their checksum. Errors: of listing the folder.
FoundDataset find_dataset(const DatasetNames& names, const ConversionPlan& plan,
                          const ConvertOptions& options);

/// The manifest beside the shards of one set; nothing for other files, or when it can't be used (to
/// say what is wrong with it is the business of infeed verify).
std::optional<Manifest> find_manifest(const std::vector<std::string>& shards);

/// Whether a conversion was begun and not brought to its end: there is a plan and no manifest.
bool is_unfinished(const DatasetNames& names);

/// The text of the plan of what is there, finished or not, if it can be read.
std::optional<std::string> find_plan(const DatasetNames& names);

/// Shards, their indices and partial files of that name, with any number of shards; sorted. None
/// when the folder isn't there.
std::vector<std::string> list_dataset_files(const DatasetNames& names);

/// Removes manifest, plan and journal's content first, so that nobody takes the rest for whole.
void remove_dataset(const DatasetNames& names, const std::vector<std::string>& files);

}  // namespace infeed::tools
