#include "system_error.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace infeed::detail {
namespace {

ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return ErrorCode::resource_exhausted;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::permission_denied;
    case ENOENT:
      return ErrorCode::not_found;
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
    case ENAMETOOLONG:
      return ErrorCode::invalid_argument;
    case EIO:
      return ErrorCode::data_loss;
    default:
      return ErrorCode::unavailable;
  }
}

}  // namespace

Error system_error(std::string_view action, const std::string& file, int error_number,
                   std::string_view advice) {
  return Error(code_of(error_number),
               fmt::format("cannot be {}: {}; {}", action, std::strerror(error_number), advice))
      .at_file(file);
}

}  // namespace infeed::detail
