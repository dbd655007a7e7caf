#include "infeed/records/detail/mapped_files.h"

#include <cstddef>
#include <sys/mman.h>
#include <sys/stat.h>

namespace infeed::detail {
namespace {

constexpr std::uint64_t kMappedPageBytes = 4096;
// MADV_POPULATE_READ: it says what a look at the bytes would answer by a signal. The system has it
// since Linux 5.14, the C library's headers only later.
constexpr int kPopulateRead = 22;
// A process may have 65,530 mappings by default, and others need some.
constexpr std::size_t kMappedFilesMax = 16'384;

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::map(const File& file, std::uint64_t size_bytes,
                                                  std::int64_t modified_ns) {
  if (size_bytes == 0) return nullptr;
  void* const memory = ::mmap(nullptr, static_cast<std::size_t>(size_bytes), PROT_READ, MAP_SHARED,
                              file.descriptor(), 0);
  if (memory == MAP_FAILED) return nullptr;
  const std::shared_ptr<const MappedFile> mapped(
      new MappedFile(static_cast<const char*>(memory), size_bytes, modified_ns));
  return mapped->bring(0, 1) ? mapped : nullptr;
}

MappedFile::~MappedFile() {
  ::munmap(const_cast<char*>(data_), static_cast<std::size_t>(size_bytes_));
}

bool MappedFile::bring(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t first_page = begin / kMappedPageBytes * kMappedPageBytes;
  void* const at = const_cast<char*>(data_) + first_page;
  return ::madvise(at, static_cast<std::size_t>(end - first_page), kPopulateRead) == 0;
}

std::shared_ptr<const MappedFile> MappedFiles::of(const File& file) {
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  const auto size_bytes = static_cast<std::uint64_t>(status.st_size);
  const std::int64_t modified_ns = status.st_mtim.tv_sec * kNsPerSecond + status.st_mtim.tv_nsec;

  const std::lock_guard lock(mutex_);
  if (kept_.size() == kMappedFilesMax) return nullptr;
  auto& kept = kept_[{status.st_dev, status.st_ino}];
  const bool is_same =
      kept != nullptr && kept->size_bytes() == size_bytes && kept->modified_ns() == modified_ns;
  if (!is_same) kept = MappedFile::map(file, size_bytes, modified_ns);
  return kept;
}

}  // namespace infeed::detail
