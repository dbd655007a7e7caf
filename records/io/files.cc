#include "infeed/records/files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <glob.h>
#include <memory>
#include <sys/stat.h>
#include <unordered_set>

#include "infeed/error.h"
#include "infeed/records/file.h"
#include "io/remote_files.h"

namespace infeed {
namespace {

namespace fs = std::filesystem;

bool has_wildcard(std::string_view text) {
  return text.find_first_of("*?[\\") != std::string_view::npos;
}

/// Returns the folder in front of the first wildcard.
fs::path fixed_folder(const fs::path& pattern) {
  fs::path folder;
  for (const auto& part : pattern.parent_path()) {
    if (has_wildcard(part.string())) break;
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
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string() + (at->is_directory() ? "/" : ""));
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

int on_glob_error(const char*, int error_number) {
  return error_number == EACCES || error_number == EPERM || error_number == EIO ? 1 : 0;
}

std::vector<std::string> expand(const std::string& pattern) {
  glob_t found{};
  const std::unique_ptr<glob_t, void (*)(glob_t*)> release(&found, &::globfree);
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, &on_glob_error, &found);
  if (code == GLOB_ABORTED) {
    throw Error(ErrorCode::permission_denied,
                fmt::format("cannot list the files of '{}': a folder of it can't be read; check "
                            "owner and mode of its folders",
                            pattern))
        .at_file(fixed_folder(pattern).string());
  }
  if (code == GLOB_NOSPACE) throw std::bad_alloc();
  return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

Error nothing_found(const std::string& pattern) {
  return Error(ErrorCode::not_found, fmt::format("no file matches '{}': {}", pattern,
                                                 describe_folder(fixed_folder(pattern))));
}

bool is_folder(const std::string& name) {
  std::error_code ignored;
  return fs::is_directory(name, ignored);
}

}  // namespace

std::vector<std::string> match_files(const std::string& pattern) {
  if (pattern.empty()) throw Error(ErrorCode::invalid_argument, "the file pattern is empty");
  if (is_url(pattern)) return detail::match_urls(pattern);
  if (!has_wildcard(pattern)) {
    struct stat status {};
    if (::stat(pattern.c_str(), &status) != 0) {
      if (errno == ENOENT) throw nothing_found(pattern);
      throw system_error("look up", pattern, errno);
    }
    if (S_ISDIR(status.st_mode)) throw system_error("read", pattern, EISDIR);
    return {pattern};
  }
  std::vector<std::string> files = expand(pattern);
  const std::size_t matched = files.size();
  std::erase_if(files, is_folder);
  if (files.empty() && matched > 0) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("only folders match '{}'; name the files in them: '{}/*'", pattern, pattern));
  }
  if (files.empty()) throw nothing_found(pattern);
  std::sort(files.begin(), files.end());  // by bytes: glob would sort by the locale
  return files;
}

std::vector<std::string> match_files(const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  std::unordered_set<std::string> seen;
  for (const std::string& pattern : patterns) {
    for (std::string& file : match_files(pattern)) {
      if (seen.insert(file).second) files.push_back(std::move(file));
    }
  }
  return files;
}

std::vector<std::string> match_files(std::initializer_list<std::string> patterns) {
  return match_files(std::vector(patterns));
}

std::string shard_name(std::string_view prefix, Shard shard, std::string_view extension) {
  if (shard.index >= shard.count) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("shard {} of {} does not exist; they count from 0", shard.index, shard.count));
  }
  return fmt::format("{}-{:05}-of-{:05}{}{}", prefix, shard.index, shard.count,
                     extension.empty() ? "" : ".", extension);
}

std::optional<ShardName> parse_shard_name(std::string_view file) {
  // The name is prefix-S...S-of-N...N[.extension]; the prefix may hold dashes itself.
  const std::size_t folder_end = file.rfind('/') + 1;  // 0 when there is none
  const std::size_t middle = file.rfind("-of-");
  if (middle == std::string_view::npos || middle < folder_end) return std::nullopt;
  const std::size_t dash = file.rfind('-', middle - 1);
  if (middle == 0 || dash == std::string_view::npos || dash < folder_end) return std::nullopt;
  const auto parse = [](std::string_view digits, std::uint32_t& value) {
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    return digits.size() >= 5 && error == std::errc() && end == digits.end();
  };
  const std::string_view rest = file.substr(middle + 4);
  const std::size_t dot = rest.find('.');
  ShardName name;
  if (!parse(file.substr(dash + 1, middle - dash - 1), name.shard.index)) return std::nullopt;
  if (!parse(rest.substr(0, dot), name.shard.count)) return std::nullopt;
  if (name.shard.index >= name.shard.count) return std::nullopt;
  name.prefix = file.substr(0, dash);
  if (dot != std::string_view::npos) name.extension = rest.substr(dot + 1);
  return name;
}

}  // namespace infeed
