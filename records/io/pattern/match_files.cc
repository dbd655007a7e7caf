#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <sys/stat.h>
#include <unordered_set>
#include <utility>

#include "infeed/detail/folder_entries.h"
#include "infeed/error.h"
#include "infeed/records/file.h"
#include "infeed/records/files.h"
#include "io/pattern/path_pattern.h"
#include "io/remote_files.h"

namespace infeed {
namespace {

namespace fs = std::filesystem;

/// Each part of a pattern costs stack while folders are looked through, and each brace a search.
constexpr std::size_t kPatternBytesMax = std::size_t{16} << 10;

/// Returns the folder in front of the first wildcard.
fs::path fixed_folder(const fs::path& pattern) {
  fs::path folder;
  for (const auto& part : pattern.parent_path()) {
    if (detail::has_wildcard(part.string())) break;
    folder /= part;
  }
  return folder.empty() ? fs::path(".") : folder;
}

/// Describes what lies in the folder, for a person who mistyped the pattern.
std::string describe_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    return fmt::format("folder '{}' does not exist", folder.string());
  }
  std::vector<std::string> names;
  for (const auto& entry : detail::folder_entries(folder.string(), error)) {
    const bool is_folder = detail::is_folder(entry, (folder / entry.name).string());
    names.push_back(entry.name + (is_folder ? "/" : ""));
  }
  if (error)
    return fmt::format("folder '{}' cannot be listed: {}", folder.string(), error.message());
  if (names.empty()) return fmt::format("folder '{}' is empty", folder.string());
  std::sort(names.begin(), names.end());
  constexpr std::size_t kNamesMax = 3;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) {
    list += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  }
  return fmt::format("folder '{}' holds {} other {}: {}{}", folder.string(), names.size(),
                     names.size() == 1 ? "entry" : "entries", list,
                     names.size() > kNamesMax ? ", ..." : "");
}

Error nothing_found(const std::string& pattern) {
  return Error(ErrorCode::not_found, fmt::format("no file matches '{}': {}", pattern,
                                                 describe_folder(fixed_folder(pattern))));
}

/// Looks for the files of one pattern, folder by folder.
class Search {
 public:
  explicit Search(const std::string& pattern)
      : pattern_(pattern), parts_(detail::path_parts(pattern)) {
    // As the last part it means the files in all of these folders.
    if (detail::is_any_depth(parts_.back())) parts_.push_back("*");
    const auto both_any_depth = [](const std::string& a, const std::string& b) {
      return detail::is_any_depth(a) && detail::is_any_depth(b);
    };
    parts_.erase(std::unique(parts_.begin(), parts_.end(), both_any_depth), parts_.end());
  }

  /// Sorted by bytes, without folders; Error not_found where there is none.
  std::vector<std::string> files() && {
    look_in("", 0);
    if (files_.empty() && found_folders_) {
      throw Error(
          ErrorCode::not_found,
          fmt::format("only folders match '{0}'; name the files in them: '{0}/*'", pattern_));
    }
    if (files_.empty()) throw nothing_found(pattern_);
    std::sort(files_.begin(), files_.end());
    files_.erase(std::unique(files_.begin(), files_.end()), files_.end());
    return std::move(files_);
  }

 private:
  /// `folder` ends with its slash, or is empty.
  void look_in(const std::string& folder, std::size_t part) {
    const std::string& wanted = parts_[part];
    if (detail::is_any_depth(wanted)) {
      if (!looked_in_.emplace(folder, part).second) return;  // another `**` led here, too
      look_in(folder, part + 1);
      for (const detail::FolderEntry& entry : entries_of(folder)) {
        const std::string path = folder + entry.name;
        // A link to a folder may lead back here.
        if (entry.name.starts_with('.') || detail::is_link(entry, path)) continue;
        if (detail::is_folder(entry, path)) look_in(path + '/', part);
      }
    } else if (!detail::has_wildcard(wanted)) {
      note(folder + wanted, part, {});
    } else {
      for (const detail::FolderEntry& entry : entries_of(folder)) {
        if (detail::part_matches(wanted, entry.name)) note(folder + entry.name, part, entry);
      }
    }
  }

  /// Something has the name of this part. `entry` may be empty.
  void note(const std::string& name, std::size_t part, const detail::FolderEntry& entry) {
    std::error_code ignored;
    const bool is_last = part + 1 == parts_.size();
    if (!is_last) return look_in(name + '/', part + 1);
    if (entry.name.empty() && !fs::exists(name, ignored)) return;
    if (detail::is_folder(entry, name)) {
      found_folders_ = true;
    } else {
      files_.push_back(name);
    }
  }

  /// Empty for what is no folder.
  std::vector<detail::FolderEntry> entries_of(const std::string& folder) const {
    std::error_code error;
    const std::string name(folder.empty() ? "." : folder);
    std::vector<detail::FolderEntry> entries = detail::folder_entries(name, error);
    const int number = error.value();
    if (number == 0 || number == ENOENT || number == ENOTDIR) return entries;
    if (number != EACCES && number != EPERM) throw system_error("list", name, number);
    throw Error(ErrorCode::permission_denied,
                fmt::format("cannot list the files of '{}': a folder of it can't be read; check "
                            "owner and mode of its folders",
                            pattern_))
        .at_file(name);
  }

  const std::string& pattern_;
  std::vector<std::string> parts_;
  std::vector<std::string> files_;
  std::set<std::pair<std::string, std::size_t>> looked_in_;  ///< by `**`, which part it was
  bool found_folders_ = false;
};

/// Returns the files of one of a pattern's alternatives.
std::vector<std::string> files_of(const std::string& pattern) {
  if (is_url(pattern)) return detail::match_urls(pattern);
  struct stat status {};
  const bool exists = ::stat(pattern.c_str(), &status) == 0;
  const int error_number = errno;
  if (exists && !S_ISDIR(status.st_mode)) return {pattern};
  if (detail::has_wildcard(pattern)) return Search(pattern).files();
  if (exists) throw system_error("read", pattern, EISDIR);
  if (error_number == ENOENT) throw nothing_found(pattern);
  throw system_error("look up", pattern, error_number);
}

bool is_file(const std::string& name) {
  struct stat status {};
  return ::stat(name.c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}

}  // namespace

std::vector<std::string> match_files(const std::string& pattern) {
  return match_files(std::vector{pattern});
}

std::vector<std::string> match_files(const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) throw Error(ErrorCode::invalid_argument, "the file pattern is empty");
    if (pattern.size() > kPatternBytesMax) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("a file pattern has {} bytes, but {} is the limit: '{}...'",
                              pattern.size(), kPatternBytesMax, pattern.substr(0, 100)));
    }
    if (!is_url(pattern) && is_file(pattern)) {
      files.push_back(pattern);
      continue;
    }
    for (const std::string& alternative : detail::expand_braces(pattern)) {
      std::vector<std::string> found = files_of(alternative);
      std::move(found.begin(), found.end(), std::back_inserter(files));
    }
  }
  remove_repeated_files(files);
  return files;
}

void remove_repeated_files(std::vector<std::string>& files) {
  std::unordered_set<std::string> seen;
  std::erase_if(files, [&](const std::string& file) {
    return !seen.insert(is_url(file) ? file : fs::path(file).lexically_normal().string()).second;
  });
}

std::vector<std::string> match_files(std::initializer_list<std::string> patterns) {
  return match_files(std::vector(patterns));
}

}  // namespace infeed
