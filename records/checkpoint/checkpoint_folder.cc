#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <sys/file.h>
#include <system_error>
#include <utility>

#include "checkpoint/checkpoint_manifest.h"
#include "infeed/detail/folder_entries.h"
#include "infeed/error.h"
#include "infeed/records/crc32c.h"
#include "infeed/records/file.h"
#include "infeed/records/training_checkpoint.h"

namespace infeed {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kRemoved = ".removed";

std::string folder_name(std::uint64_t step) { return fmt::format("{}{:010}", kPrefix, step); }

std::optional<std::uint64_t> step_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::uint64_t step = 0;
  return detail::parse_whole(name, step) ? std::optional(step) : std::nullopt;
}

/// Locks the folder: no other process writes there until the file is closed.
File locked(const std::string& folder) {
  File file = File::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0) return file;
  throw Error(ErrorCode::failed_precondition,
              "somebody else is writing a checkpoint into this folder at this moment; give each "
              "training a folder of its own")
      .at_file(folder);
}

/// Removes partial checkpoints of killed processes, whose names no reader takes.
void remove_leftovers(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& [name, type] : detail::folder_entries(folder.string(), ignored)) {
    if (!name.starts_with("." + std::string(kPrefix))) continue;
    if (name.ends_with(kPartial) || name.ends_with(kRemoved))
      fs::remove_all(folder / name, ignored);
  }
}

/// Renames the checkpoint before it is removed, so that a kill half-way leaves no half checkpoint.
void remove_checkpoint(const fs::path& checkpoint) {
  const fs::path removed =
      checkpoint.parent_path() / ("." + checkpoint.filename().string() + std::string(kRemoved));
  std::error_code ignored;
  fs::rename(checkpoint, removed, ignored);
  fs::remove_all(removed, ignored);
}

std::string_view bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), tensor.bytes()};
}

[[noreturn]] void refuse(std::string text) {
  throw Error(ErrorCode::invalid_argument, std::move(text));
}

/// Refuses names that the manifest can't hold, and names that come twice in `names`.
void check_name(std::string_view noun, std::string_view name, std::set<std::string_view>& names) {
  if (name.empty() || name.find('\n') != name.npos) {
    refuse(fmt::format("{} of a checkpoint are named '{}'; give a name without line breaks", noun,
                       name));
  }
  if (!names.insert(name).second) {
    refuse(fmt::format("two {} of a checkpoint are named '{}'; nobody could read the second", noun,
                       name));
  }
}

/// Returns the text of the manifest. Refuses one that no reader would take.
std::string manifest_of(const TrainingState& state) {
  detail::CheckpointManifest manifest{.step = state.step};
  std::set<std::string_view> tensor_names;
  for (const NamedTensor& named : state.tensors) {
    check_name("tensors", named.name, tensor_names);
    manifest.tensors.push_back({.name = named.name,
                                .dtype = named.tensor.dtype(),
                                .shape = named.tensor.shape(),
                                .offset_bytes = manifest.tensor_bytes(),
                                .crc32c = crc32c(bytes_of(named.tensor))});
  }
  std::set<std::string_view> bytes_names;
  for (const NamedBytes& named : state.bytes) {
    check_name("bytes", named.name, bytes_names);
    manifest.bytes.push_back({.name = named.name,
                              .offset_bytes = manifest.bytes_bytes(),
                              .size_bytes = named.bytes.size(),
                              .crc32c = crc32c(named.bytes)});
  }
  std::string text = manifest.to_text();
  if (text.size() > detail::kManifestBytesMax) {
    refuse(fmt::format(
        "the manifest of a checkpoint would have {} bytes, and {} are the limit; "
        "give its {} entries shorter names, or join some",
        text.size(), detail::kManifestBytesMax, state.tensors.size() + state.bytes.size()));
  }
  return text;
}

void write_files(const fs::path& folder, const TrainingState& state, Durability durability) {
  const std::string manifest = manifest_of(state);
  OutputFile tensors((folder / "tensors").string(), ExistingFile::refuse, durability);
  for (const NamedTensor& named : state.tensors) tensors.write(bytes_of(named.tensor));
  tensors.commit();
  OutputFile bytes((folder / "bytes").string(), ExistingFile::refuse, durability);
  for (const NamedBytes& named : state.bytes) bytes.write(named.bytes);
  bytes.commit();
  OutputFile text((folder / "manifest").string(), ExistingFile::refuse, durability);
  text.write(manifest);
  text.commit();
}

void rename_into_place(const fs::path& partial, const fs::path& checkpoint) {
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, checkpoint.c_str(), RENAME_NOREPLACE) == 0) {
    return;
  }
  // A checkpoint of the same step: the two change places, so that there is one at any time.
  if (errno == EEXIST &&
      ::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, checkpoint.c_str(), RENAME_EXCHANGE) == 0) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    return;
  }
  if (errno != EINVAL && errno != ENOSYS) {
    throw system_error("rename the checkpoint into place", checkpoint.string(), errno);
  }
  // The file system doesn't support this rename.
  remove_checkpoint(checkpoint);
  if (::rename(partial.c_str(), checkpoint.c_str()) != 0) {
    throw system_error("rename the checkpoint into place", checkpoint.string(), errno);
  }
}

}  // namespace

std::vector<std::string> training_checkpoints(const std::string& folder) {
  std::vector<std::pair<std::uint64_t, std::string>> found;
  std::error_code error;
  for (const detail::FolderEntry& entry : detail::folder_entries(folder, error)) {
    const std::optional<std::uint64_t> step = step_of(entry.name);
    const std::string path = (fs::path(folder) / entry.name).string();
    if (step && detail::is_folder(entry, path)) found.emplace_back(*step, path);
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (auto& [step, name] : found) names.push_back(std::move(name));
  return names;
}

std::optional<std::string> latest_training_checkpoint(const std::string& folder) {
  std::vector<std::string> all = training_checkpoints(folder);
  if (all.empty()) return std::nullopt;
  return std::move(all.back());
}

std::string save_training_checkpoint(const std::string& folder, const TrainingState& state,
                                     SaveOptions options) {
  if (options.keep < 1) {
    refuse("SaveOptions::keep is 0: the checkpoint that is saved would go at once; keep 1 or more");
  }
  make_folder(folder);
  const File lock = locked(folder);
  remove_leftovers(folder);
  const fs::path checkpoint = fs::path(folder) / folder_name(state.step);
  const fs::path partial =
      fs::path(folder) / ("." + folder_name(state.step) + std::string(kPartial));
  make_folder(partial.string());
  try {
    write_files(partial, state, options.durability);
    rename_into_place(partial, checkpoint);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw;
  }
  if (options.durability == Durability::synced) sync_folder(folder);
  // A resumed run may have begun at an older step than the newest. Its last checkpoint stays in any
  // case.
  std::vector<std::string> all = training_checkpoints(folder);
  std::erase(all, checkpoint.string());
  while (all.size() + 1 > options.keep) {
    remove_checkpoint(all.front());
    all.erase(all.begin());
  }
  return checkpoint.string();
}

}  // namespace infeed
