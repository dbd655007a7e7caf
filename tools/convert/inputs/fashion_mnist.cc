#include "convert/inputs/fashion_mnist.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <infeed/detail/folder_entries.h>
#include <infeed/error.h>

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAdvice =
    "install the Debian package dataset-fashion-mnist, or name the folder that has the files";

void check_folder(const std::string& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (status.type() == fs::file_type::not_found) {
    throw Error(ErrorCode::not_found,
                fmt::format("dataset folder '{}' does not exist; {}", folder, kAdvice));
  }
  if (error) {
    throw Error(ErrorCode::permission_denied,
                fmt::format("cannot look at dataset folder '{}': {}; check owner and mode of the "
                            "folders above it",
                            folder, error.message()));
  }
  if (status.type() != fs::file_type::directory) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("dataset '{}' is a file; name the folder that has the IDX files", folder));
  }
  if (::access(folder.c_str(), R_OK | X_OK) != 0) {
    throw Error(
        ErrorCode::permission_denied,
        fmt::format("dataset folder '{}' may not be read by you; check its owner and mode, or run "
                    "as a user who may",
                    folder));
  }
}

std::string describe(const std::string& folder) {
  std::vector<std::string> names = infeed::detail::names_in_folder(folder);
  if (names.empty()) return "the folder is empty";
  std::sort(names.begin(), names.end());
  const std::size_t count = names.size();
  if (count > 4) names.resize(4);
  return fmt::format("it has {} other file{} ({}{})", count, count == 1 ? "" : "s",
                     fmt::join(names, ", "), count > 4 ? ", ..." : "");
}

std::string find_file(const std::string& folder, const std::string& name) {
  for (const std::string_view suffix : {".gz", ""}) {
    const fs::path path = fs::path(folder) / (name + std::string(suffix));
    std::error_code ignored;
    if (fs::exists(path, ignored)) return path.string();
  }
  throw Error(ErrorCode::not_found, fmt::format("{}.gz is not in folder '{}': {}; {}", name, folder,
                                                describe(folder), kAdvice));
}

}  // namespace

std::string_view to_string(Split split) { return split == Split::train ? "train" : "test"; }

IdxPair find_idx_pair(const std::string& folder, Split split) {
  check_folder(folder);
  const std::string prefix = split == Split::train ? "train" : "t10k";
  return {find_file(folder, prefix + "-images-idx3-ubyte"),
          find_file(folder, prefix + "-labels-idx1-ubyte")};
}

}  // namespace infeed::tools
