#pragma once

#include <optional>
#include <string>
#include <vector>

#include "convert/conversion_plan.h"
#include "convert/manifest.h"

/// Why: before a conversion writes anything it must know which files of its name exist: of which
/// plan, how far finished, and what would be lost.
namespace infeed::tools {

struct FoundDataset {
  enum class Kind {
    nothing,
    unfinished,  ///< same plan, but not complete
    finished,    ///< same plan, all shards with their sizes
    damaged,     ///< same plan, but some shards differ
    other,       ///< anything else
  };
  Kind kind = Kind::nothing;
  std::string description;         ///< for `other`: what it is and how it differs
  Manifest manifest;               ///< for `finished` and `damaged`
  std::vector<WrongShard> wrong;   ///< for `damaged`
  std::vector<std::string> files;  ///< shards, indices and partial files of that name; sorted
};

/// `names` and `plan` belong together. Shards of a complete dataset are judged by their size, which
/// costs nothing, or with options.check_content by their checksum. Errors: those of listing the
/// folder.
FoundDataset find_dataset(const DatasetNames& names, const ConversionPlan& plan,
                          const ConvertOptions& options);

/// True if there is a file or a folder of that name. False if that can't be told.
bool exists(const std::string& path);

/// Returns the manifest beside the shards of one set; nothing for other files, or if it can't be
/// used (infeed verify reports what is wrong with it).
std::optional<Manifest> find_manifest(const std::vector<std::string>& shards);

/// True if a conversion was begun and not finished: there is a plan and no manifest.
bool is_unfinished(const DatasetNames& names);

/// Returns the text of the existing plan, finished or not, if it can be read.
std::optional<std::string> find_plan(const DatasetNames& names);

/// Returns shards, their indices and partial files of that name, with any number of shards; sorted.
/// None if the folder doesn't exist.
std::vector<std::string> list_dataset_files(const DatasetNames& names);

/// Removes manifest, plan and journal's content first, so that nobody takes the rest for whole.
void remove_dataset(const DatasetNames& names, const std::vector<std::string>& files);

}  // namespace infeed::tools
