#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "infeed/records/compression.h"
#include "infeed/records/file.h"
#include "infeed/records/url_options.h"

/// Why: any thread reads inputs at any place, but compressed files and pipes only come from front
/// to back, and URLs come best that way. Those inputs are copied, decompressed, into a file without
/// a name in the folder for temporary files (TMPDIR). The copy vanishes with its owner; it costs
/// disk, but no memory.
///
///     const infeed::SeekableFile file("table.bin.gz");
///     std::array<char, 16> some;
///     file.read_exactly(file.size_bytes() / 2, some);
///
/// Errors name the original file. Thread-safety: as const, any number of threads at once.
namespace infeed {

/// Makes an empty file without a name in the folder for temporary files. It vanishes with its
/// owner. Errors name the purpose.
File make_nameless_file(const std::string& purpose);

class SeekableFile {
 public:
  /// Takes an open file; errors name it `name`.
  SeekableFile(std::string name, File file);
  /// Opens a file. `automatic` recognises gzip, zstd and lz4 by the first bytes, but not zlib, since text may
  /// begin like it.
  explicit SeekableFile(const std::string& file, Compression compression = Compression::automatic,
                        const UrlOptions& url = {});

  /// Name of the original file.
  const std::string& name() const { return name_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  /// Fills `into`; fewer bytes only where the file ends.
  std::size_t read_at(std::uint64_t offset, std::span<char> into) const {
    return file_.read_at(offset, into);
  }
  /// Fills all of `into`. Throws data_loss when the file ends before (it has changed meanwhile).
  void read_exactly(std::uint64_t offset, std::span<char> into) const;
  /// Maps the whole file for as long as somebody holds the memory; the file may be closed before.
  /// Null where the system can't, or for an empty file. A program that makes the file shorter
  /// meanwhile ends the process when the missing bytes are used.
  std::shared_ptr<const char> map() const;
  /// Returns a name under which this process can open the file.
  std::string path() const;

 private:
  std::string name_;
  File file_;
  std::uint64_t size_bytes_;
  mutable std::mutex mapping_mutex_;
  mutable std::shared_ptr<const char> mapping_;  ///< set once somebody has asked for it
};

}  // namespace infeed
