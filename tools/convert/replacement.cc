#include "convert/replacement.h"

#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/file.h>

#include "convert/conversion_checks.h"
#include "convert/inputs/found_dataset.h"
#include "convert/journal.h"
#include "convert/manifest.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

std::string prefix_beside(const DatasetNames& names) {
  return (fs::path(names.folder) / fmt::format(".{}{}", names.name, kReplacementEnd) / names.name)
      .string();
}

std::string place_in(const std::string& folder, const std::string& file) {
  return (fs::path(folder) / fs::path(file).filename()).string();
}

void move_into(const std::string& folder, const std::string& file) {
  std::error_code error;
  if (fs::rename(file, place_in(folder, file), error); error) {
    throw system_error("move", file, error.value());
  }
}

/// Returns the names of the shards and of what lies beside them.
std::vector<std::string> files_of(const Manifest& manifest) {
  std::vector<std::string> files;
  for (const ShardEntry& shard : manifest.shards) {
    files.push_back(shard.file);
    if (shard.side_file) files.push_back(shard.file + shard.side_file->ending);
  }
  return files;
}

/// Returns a manifest's files; none if it can't be used, as the conversion finds out, too.
std::vector<std::string> files_of(const std::string& manifest_file) try {
  return files_of(read_manifest(manifest_file));
} catch (const Error&) {
  return {};
}

}  // namespace

bool is_being_moved(const DatasetNames& names) {
  return !exists(names.manifest_file) && exists(DatasetNames(prefix_beside(names)).manifest_file);
}

std::optional<std::string> unfinished_replacement(const DatasetNames& names) {
  const std::string folder = DatasetNames(prefix_beside(names)).folder;
  if (!exists(folder)) return std::nullopt;
  return fmt::format(
      "'{}' holds an unfinished dataset that was to replace '{}': the same command with "
      "--overwrite goes on there, unless it still runs; remove the folder if nobody wants it",
      folder, names.name);
}

std::optional<Replacement> Replacement::find(const ExampleInput& input,
                                             const ConvertOptions& options) {
  if (options.existing == ExistingDataset::refuse) return std::nullopt;
  const DatasetNames names(options.prefix);
  if (!exists(names.manifest_file) && !is_being_moved(names)) return std::nullopt;
  const bool may_stay = options.existing == ExistingDataset::replace_unless_same;
  if (may_stay && find_plan(names) == choose_plan(input, options, names).text) return std::nullopt;
  FoundDataset there;
  there.files = list_dataset_files(names);
  require_other_files(there, input, options);
  return Replacement(names, options);
}

Replacement::Replacement(DatasetNames names, ConvertOptions options)
    : names_(std::move(names)), options_(std::move(options)), beside_(prefix_beside(names_)) {
  options_.prefix = prefix_beside(names_);
  options_.existing = ExistingDataset::replace;
}

ConvertResult Replacement::make(const std::function<ConvertResult()>& convert) const {
  make_folder(names_.folder);
  Journal lock(names_.journal_file, options_.durability);
  try {
    take_back();
    ConvertResult made = convert();
    move_files(made.manifest);
    lock.remove();
    for (std::string& file : made.files) file = place_in(names_.folder, file);
    made.manifest_file = names_.manifest_file;
    made.was_complete = false;
    return made;
  } catch (...) {
    if (lock.lines().empty()) lock.remove();  // else it is of an unfinished conversion in the place
    throw;
  }
}

/// Moves files back that an interrupted move has brought to their place already. So the conversion finds
/// its dataset whole. The old files were all gone before the first one was moved.
void Replacement::take_back() const {
  if (!is_being_moved(names_)) return;
  for (const std::string& name : files_of(beside_.manifest_file)) {
    const std::string file = place_in(names_.folder, name);
    if (exists(file) && !exists(place_in(beside_.folder, name))) move_into(beside_.folder, file);
  }
}

void Replacement::move_files(const Manifest& made) const {
  const auto sync = [&] {
    if (options_.durability == Durability::synced) sync_folder(names_.folder);
  };
  remove_dataset(names_, list_dataset_files(names_));
  sync();
  for (const std::string& name : files_of(made)) {
    move_into(names_.folder, place_in(beside_.folder, name));
  }
  sync();
  move_into(names_.folder, beside_.manifest_file);
  std::error_code ignored;  // the dataset is whole, and a rank that wakes up may be at work there
  fs::remove_all(beside_.folder, ignored);
  sync();
}

}  // namespace infeed::tools
