#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace infeed::detail {

/// Threads that decompress a file ahead of the thread that reads it, where the file allows it
/// (zstd's seekable format).
struct ThreadsAhead {
  unsigned threads = 0;         ///< below 2: the reading thread decompresses
  std::uint64_t bytes_max = 0;  ///< most bytes that they hold
  /// Called first by each of the threads, with the name "reader". Must not throw.
  std::function<void(std::string_view)> on_thread_start = {};
};

/// Returns the bytes that a thread ahead holds of a local file; nothing where none can decompress
/// it ahead. Never throws because of the file.
std::uint64_t bytes_of_thread_ahead(const std::string& file);

}  // namespace infeed::detail
