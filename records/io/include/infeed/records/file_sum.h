#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "infeed/error.h"

/// Why: size and checksum of a whole file tell whether it is still the file that was written.
///
///     infeed::RecordWriter writer(name, {.file_sum = true});
///     ...
///     writer.close();
///     manifest.add(name, writer.file_sum());               // of the written file
///     if (infeed::sum_file(name) != manifest.sum(name)) ...  // later: is it still that file?
///
/// Thread-safety: values.
namespace infeed {

struct FileSum {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const FileSum&) const = default;
};

/// Sums up the file as it is stored (a compressed file's compressed bytes), in steps of a MiB.
/// `file` is a path or URL. Errors: those of ByteStream, and cancelled after a stop request.
FileSum sum_file(const std::string& file, const std::stop_token& stop = {});

enum class FileCheck { size, content };

/// A file that isn't the one that was summed up.
struct FileDifference {
  std::string text;          ///< "has 6 bytes instead of 10", "is missing"
  bool can_be_read = false;  ///< there are other bytes
  bool is_known = true;      ///< false: it can't be read now, which may pass
};

/// Compares a file with the sum that it should have: its size alone, or all of it. By URL always all
/// of it. Empty if nothing differs. Throws Error cancelled after a stop request.
std::optional<FileDifference> compare_file(const std::string& file, const FileSum& wanted,
                                           FileCheck check, const std::stop_token& stop = {});

}  // namespace infeed
