#include "infeed/records/detail/mapped_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace infeed::detail {
namespace {

// MADV_POPULATE_READ reports failures that a plain look at the bytes would answer by a signal.
// Linux has it since 5.14, the C library's headers only later.
constexpr int kPopulateRead = 22;
// A process may have 65,530 mappings by default, and others need some.
constexpr std::size_t kMappedFilesMax = 16'384;

/// Returns the bytes of the system's page: 4 KiB with x86-64, up to 64 KiB with ARM.
std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Returns the status of a regular file; empty for any other.
std::optional<struct stat> status_of(const File& file) {
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status;
}

std::int64_t modified_ns_of(const struct stat& status) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  return status.st_mtim.tv_sec * kNsPerSecond + status.st_mtim.tv_nsec;
}

}  // namespace

std::shared_ptr<const char> map_bytes(const File& file, std::uint64_t bytes) {
  if (bytes == 0) return nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (memory == MAP_FAILED) return nullptr;
  return {static_cast<const char*>(memory),
          [size](const char* at) { ::munmap(const_cast<char*>(at), size); }};
}

std::shared_ptr<const MappedFile> MappedFile::map(const File& file) {
  const auto status = status_of(file);
  if (!status) return nullptr;
  const auto bytes = static_cast<std::uint64_t>(status->st_size);
  auto data = map_bytes(file, bytes);
  if (data == nullptr) return nullptr;
  const uid_t user = ::geteuid();
  const std::shared_ptr<const MappedFile> mapped(new MappedFile(
      std::move(data), bytes, modified_ns_of(*status), user == 0 || user == status->st_uid));
  return mapped->populate(0, 1) ? mapped : nullptr;
}

bool MappedFile::bring(std::uint64_t begin, std::uint64_t end) const {
  return (is_own_ && are_in_memory(begin, end)) || populate(begin, end);
}

bool MappedFile::populate(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t first_page = begin / page_bytes() * page_bytes();
  void* const at = const_cast<char*>(data()) + first_page;
  return ::madvise(at, static_cast<std::size_t>(end - first_page), kPopulateRead) == 0;
}

bool MappedFile::are_in_memory(std::uint64_t begin, std::uint64_t end) const {
  std::array<unsigned char, 256> pages{};  // only the lowest bit of each counts
  const std::uint64_t step_bytes = pages.size() * page_bytes();
  for (std::uint64_t at = begin / page_bytes() * page_bytes(); at < end; at += step_bytes) {
    const auto bytes = static_cast<std::size_t>(std::min(step_bytes, end - at));
    if (::mincore(const_cast<char*>(data()) + at, bytes, pages.data()) != 0) return false;
    const std::size_t count = (bytes + page_bytes() - 1) / page_bytes();
    const auto is_in_memory = [](unsigned char page) { return (page & 1U) != 0; };
    const auto asked = std::span(pages).first(count);
    if (!std::all_of(asked.begin(), asked.end(), is_in_memory)) return false;
  }
  return true;
}

std::shared_ptr<const MappedFile> MappedFiles::of(const File& file,
                                                  std::uint64_t bytes_when_opened) {
  const auto status = status_of(file);
  if (!status) return nullptr;
  const std::lock_guard lock(mutex_);
  const std::pair<std::uint64_t, std::uint64_t> key(status->st_dev, status->st_ino);
  if (kept_.size() >= kMappedFilesMax && !kept_.contains(key)) return nullptr;
  auto& kept = kept_[key];
  const bool is_same = kept != nullptr &&
                       kept->size_bytes() == static_cast<std::uint64_t>(status->st_size) &&
                       kept->modified_ns() == modified_ns_of(*status);
  if (!is_same) kept = MappedFile::map(file);
  return kept != nullptr && kept->size_bytes() == bytes_when_opened ? kept : nullptr;
}

}  // namespace infeed::detail
