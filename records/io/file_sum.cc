#include "infeed/records/file_sum.h"

#include <filesystem>
#include <fmt/format.h>

#include "infeed/records/byte_stream.h"
#include "infeed/records/crc32c.h"
#include "infeed/records/file.h"
#include "infeed/records/files.h"
#include "infeed/records/page_buffer.h"

namespace infeed {

FileSum sum_file(const std::string& file, const std::stop_token& stop) {
  constexpr std::size_t kStepBytes = std::size_t{1} << 20;
  if (!is_url(file)) File::open_to_read(file);  // refuses a pipe, which would be waited for
  ByteStream in(file, Compression::none, {.stop = stop});
  const PageBuffer step(kStepBytes);
  FileSum sum;
  while (const std::size_t got = in.read(step)) {
    if (stop.stop_requested()) {
      throw Error(ErrorCode::cancelled, "stopped before the file was read").at_file(file);
    }
    sum.crc32c = extend_crc32c(sum.crc32c, {step.data(), got});
    sum.bytes += got;
  }
  return sum;
}

std::optional<FileDifference> compare_file(const std::string& file, const FileSum& wanted,
                                           FileCheck check, const std::stop_token& stop) try {
  namespace fs = std::filesystem;
  const bool is_local = !is_url(file);
  if (is_local && !fs::exists(file)) return FileDifference{"is missing"};
  // Reading a link to a pipe or a device could wait or go on for ever.
  if (is_local && !fs::is_regular_file(file)) return FileDifference{"is no regular file"};
  const bool is_size_enough =
      is_local && (check == FileCheck::size || fs::file_size(file) != wanted.bytes);
  const FileSum found =
      is_size_enough ? FileSum{fs::file_size(file), wanted.crc32c} : sum_file(file, stop);
  if (found == wanted) return std::nullopt;
  return FileDifference{
      found.bytes != wanted.bytes
          ? fmt::format("has {} bytes instead of {}", found.bytes, wanted.bytes)
          : fmt::format("has the checksum {:08x} instead of {:08x} of its {} bytes", found.crc32c,
                        wanted.crc32c, found.bytes),
      true};
} catch (const std::filesystem::filesystem_error& error) {
  return FileDifference{.text = fmt::format("can't be looked at: {}", error.code().message()),
                        .is_known = false};
} catch (const Error& error) {
  if (error.code() == ErrorCode::cancelled) throw;
  if (error.code() == ErrorCode::not_found) return FileDifference{"is missing"};
  return FileDifference{.text = fmt::format("can't be read: {}", error.message()),
                        .is_known = error.code() == ErrorCode::data_loss};
}

}  // namespace infeed
