#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

/// Why: size and checksum of a whole file say whether it is still the one that was written.
///
///     infeed::RecordWriter writer(name, {.file_sum = true});
///     ...
///     writer.close();
///     manifest.add(name, writer.file_sum());               // what was written
///     if (infeed::sum_file(name) != manifest.sum(name)) ...  // later: is it that still?
///
/// Thread-safety: values.
namespace infeed {

struct FileSum {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const FileSum&) const = default;
};

/// Sums up the file as it is stored, so a compressed file's compressed bytes, in steps of a MiB.
/// The file is named by path or URL; errors are those of ByteStream, and cancelled after a stop
/// request.
FileSum sum_file(const std::string& file, const std::stop_token& stop = {});

}  // namespace infeed
