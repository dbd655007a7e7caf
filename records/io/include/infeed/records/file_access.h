#pragma once

/// Why: a file that is in the page cache, or will be read again, is read through that cache. One
/// that is cold and read once pushes other data out of it. Which way is quicker for cold files
/// depends on the disk: measure it.
namespace infeed {

enum class FileAccess {
  page_cache,
  /// Reads past the page cache (O_DIRECT), eight reads of 1 MiB ahead, by io_uring or else by
  /// threads. It takes 8 MiB a reader. Where the file system knows no such reads, the file is read
  /// as with page_cache; so is a pipe or URL.
  direct,
};

}  // namespace infeed
