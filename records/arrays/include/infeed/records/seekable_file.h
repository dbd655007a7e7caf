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

/// Why: inputs are read at any place by any thread, but compressed files and pipes only come from
/// front to back, and what lies behind a URL comes best that way. Those are copied, decompressed,
/// into a file without a name in the folder for temporary files (TMPDIR), which vanishes with its
/// owner: it costs disk, but no memory.
///
///     const infeed::SeekableFile file("table.bin.gz");
///     std::array<char, 16> some;
///     file.read_exactly(file.size_bytes() / 2, some);
///
/// Errors name the original file. Thread-safety: as const, any number of threads at once.
namespace infeed {

/// An empty file without a name, in the folder for temporary files; it vanishes with its owner.
/// Errors say what it is for.
File make_nameless_file(const std::string& purpose);

class SeekableFile {
 public:
  /// A file that is open already; errors name it `name`.
  SeekableFile(std::string name, File file);
  /// Automatic: gzip is recognised by its first bytes. Zlib is not, as text may begin like it.
  explicit SeekableFile(const std::string& file, Compression compression = Compression::automatic,
                        const UrlOptions& url = {});

  /// Of the original.
  const std::string& name() const { return name_; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  /// Fills `into`; fewer bytes only where the file ends.
  std::size_t read_at(std::uint64_t offset, std::span<char> into) const {
    return file_.read_at(offset, into);
  }
  /// Exactly that; data_loss when the file ends before (it has changed meanwhile).
  void read_exactly(std::uint64_t offset, std::span<char> into) const;
  /// All its bytes in memory, for as long as somebody holds them; the file may go before. Null where
  /// the system can't, or there are none. Who makes the file shorter meanwhile ends the process when
  /// it looks there.
  std::shared_ptr<const char> map() const;
  /// A name under which this process can open it.
  std::string path() const;

 private:
  std::string name_;
  File file_;
  std::uint64_t size_bytes_;
  mutable std::mutex mapping_mutex_;
  mutable std::shared_ptr<const char> mapping_;  ///< once somebody asked for it
};

}  // namespace infeed
