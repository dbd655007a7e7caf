#include "infeed/detail/folder_entries.h"

#include <cerrno>
#include <dirent.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <utility>

#include "infeed/records/file.h"

namespace infeed::detail {

bool is_folder(const FolderEntry& entry, const std::string& path) {
  if (entry.type != DT_LNK && entry.type != DT_UNKNOWN) return entry.type == DT_DIR;
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_link(const FolderEntry& entry, const std::string& path) {
  if (entry.type != DT_UNKNOWN) return entry.type == DT_LNK;
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

std::vector<FolderEntry> folder_entries(const std::string& folder, std::error_code& error) {
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> open(::opendir(folder.c_str()), close);
  std::vector<FolderEntry> entries;
  if (open == nullptr) {
    error.assign(errno, std::generic_category());
    return entries;
  }
  while (true) {
    errno = 0;  // the only sign of a failure
    const dirent* const entry = ::readdir(open.get());
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") entries.push_back({std::string(name), entry->d_type});
  }
  error.assign(errno, std::generic_category());
  return entries;
}

std::vector<std::string> names_in_folder(const std::string& folder) {
  std::error_code error;
  std::vector<FolderEntry> entries = folder_entries(folder, error);
  if (error) throw system_error("list", folder, error.value());
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (FolderEntry& entry : entries) names.push_back(std::move(entry.name));
  return names;
}

}  // namespace infeed::detail
