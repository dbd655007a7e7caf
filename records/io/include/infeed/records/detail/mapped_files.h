#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "infeed/records/file.h"

/// Why: what is read out of the page cache is copied first, which is half of what long records
/// cost. Mapped, they are used where they lie: images of 112 KiB become batches 1.6 times as quickly.
/// Only what stays mapped gains: to map a file anew costs as much as to read it.
/// Not meant to be used directly.
namespace infeed::detail {

/// The first `bytes` of `file` in memory, for as long as somebody holds them; the file may go before.
/// Null where the system can't, or there are none.
std::shared_ptr<const char> map_bytes(const File& file, std::uint64_t bytes);

/// The bytes of a file, whatever becomes of its name.
///
/// They may be looked at once bring() has said so, and only while the file stays as long as it was:
/// whoever shortens it ends the process (SIGBUS), and so does a disk that fails to give again what
/// the system has dropped since.
///
/// Thread-safety: any threads at once.
class MappedFile {
 public:
  /// Null where it or the system can't (an empty file, a kernel before 5.14).
  static std::shared_ptr<const MappedFile> map(const File& file);

  const char* data() const { return data_.get(); }
  std::uint64_t size_bytes() const { return size_bytes_; }
  /// When it was written last before it was mapped.
  std::int64_t modified_ns() const { return modified_ns_; }
  /// Brings bytes into memory that aren't there, if need be from the disk. False when the disk fails.
  bool bring(std::uint64_t begin, std::uint64_t end) const;

 private:
  MappedFile(std::shared_ptr<const char> data, std::uint64_t size_bytes, std::int64_t modified_ns,
             bool is_own)
      : data_(std::move(data)),
        size_bytes_(size_bytes),
        modified_ns_(modified_ns),
        is_own_(is_own) {}

  bool populate(std::uint64_t begin, std::uint64_t end) const;
  bool are_in_memory(std::uint64_t begin, std::uint64_t end) const;

  const std::shared_ptr<const char> data_;
  const std::uint64_t size_bytes_;
  const std::int64_t modified_ns_;
  const bool is_own_;  ///< of other users' files the system doesn't tell what is in memory
};

/// Keeps files mapped from one pass over them to the next.
///
/// Thread-safety: any threads at once.
class MappedFiles {
 public:
  /// What is mapped already, unless the file has changed. Null when it can't be mapped, or when so
  /// many are that the system has no room for more.
  std::shared_ptr<const MappedFile> of(const File& file);

 private:
  std::mutex mutex_;
  /// By device and inode.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<const MappedFile>> kept_;
};

}  // namespace infeed::detail
