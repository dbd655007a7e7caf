#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <system_error>

#include "infeed/records/file.h"

namespace infeed {
namespace {

/// The outermost folder of `file` that is not there, or empty.
std::string missing_folder(const std::string& file) {
  std::filesystem::path so_far;
  for (const auto& part : std::filesystem::path(file).parent_path()) {
    so_far /= part;
    std::error_code ignored;
    if (!std::filesystem::exists(so_far, ignored)) return so_far.string();
  }
  return {};
}

struct Explanation {
  ErrorCode code;
  std::string text;
};

Explanation explain(const std::string& file, int error_number) {
  switch (error_number) {
    case ENOENT: {
      const std::string folder = missing_folder(file);
      if (!folder.empty()) {
        return {ErrorCode::not_found, fmt::format("folder '{}' does not exist", folder)};
      }
      return {ErrorCode::not_found, "no such file; check the name"};
    }
    case ENOTDIR:
      return {ErrorCode::invalid_argument, "a part of the path is a file, not a folder"};
    case EISDIR:
      return {ErrorCode::invalid_argument,
              "it is a folder; name the files in it, e.g. with '/*.tfrecord', or a file"};
    case EACCES:
    case EPERM:
      return {ErrorCode::permission_denied,
              "permission denied; check owner and mode of the file and its folders, or choose a "
              "folder that you may use"};
    case ENXIO:
      return {ErrorCode::failed_precondition,
              "it is a pipe that nobody reads, or a socket; start the pipe's reader first, or "
              "remove it if you don't know it"};
    case EROFS:
      return {ErrorCode::permission_denied, "the file system is read-only; choose another folder"};
    case EEXIST:
      return {ErrorCode::already_exists, "it exists already; nothing was overwritten"};
    case ENOSPC:
      return {ErrorCode::resource_exhausted, "the disk is full; free space or choose another disk"};
    case EDQUOT:
      return {ErrorCode::resource_exhausted, "the quota is used up; free space or raise the quota"};
    case EFBIG:
      return {ErrorCode::resource_exhausted,
              "the file would be larger than is allowed (ulimit -f)"};
    case EMFILE:
    case ENFILE:
      return {
          ErrorCode::resource_exhausted,
          "too many open files; open fewer at once (fewer threads) or raise the limit (ulimit -n)"};
    case EIO:
      return {ErrorCode::data_loss,
              "input/output error; the disk or its connection fails, see the system's log"};
    case ENAMETOOLONG:
      return {ErrorCode::invalid_argument, "the name is too long"};
    case ELOOP:
      return {ErrorCode::invalid_argument, "too many symbolic links in the path"};
    default:
      return {ErrorCode::unavailable, std::generic_category().message(error_number)};
  }
}

}  // namespace

Error system_error(std::string_view action, const std::string& file, int error_number) {
  const Explanation explanation = explain(file, error_number);
  return Error(explanation.code, fmt::format("cannot {}: {}", action, explanation.text))
      .at_file(file);
}

}  // namespace infeed
