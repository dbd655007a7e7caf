#pragma once

#include <string>
#include <system_error>
#include <vector>

/// Why: the standard library's iterators over folders end the program where there is no memory for
/// a name, and throw no infeed::Error when a disk fails half-way.
namespace infeed::detail {

struct FolderEntry {
  std::string name;
  /// DT_DIR, DT_REG and so on of readdir(3); DT_UNKNOWN where the file system doesn't say.
  unsigned char type = 0;
};

/// True for a folder or a link to one. `path`: where the entry is.
bool is_folder(const FolderEntry& entry, const std::string& path);
bool is_link(const FolderEntry& entry, const std::string& path);

/// Returns what lies in a folder, in no order, without itself and the folder above. If it can't be
/// listed to its end, sets `error` and returns what came before.
std::vector<FolderEntry> folder_entries(const std::string& folder, std::error_code& error);

/// Returns their names. Throws Error when the folder can't be listed.
std::vector<std::string> names_in_folder(const std::string& folder);

}  // namespace infeed::detail
