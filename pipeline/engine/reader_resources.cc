#include "engine/reader_resources.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace infeed::detail {
namespace {

/// Returns false for a URL or a pipe, too, whose bytes aren't known.
bool is_small_file(const std::string& name) {
  // Fresh memory for so many bytes costs 64 page faults, about as much as opening the file.
  constexpr std::uintmax_t kSmallBytes = std::uintmax_t{256} << 10;
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(name, error);
  return !error && bytes <= kSmallBytes;
}

}  // namespace

std::shared_ptr<SpareBlocks> ReaderResources::spare_blocks(const std::string& file) {
  if (is_small_file(file)) return nullptr;
  constexpr std::uint64_t kBytesMax = std::uint64_t{8} << 20;
  constexpr std::uint64_t kBytesMin = std::uint64_t{1} << 20;  // less doesn't help
  const std::lock_guard lock(mutex_);
  if (spare_blocks_ != nullptr) return spare_blocks_;
  const std::uint64_t limit = memory_.limit_bytes();
  const std::uint64_t bytes = limit == 0 ? kBytesMax : std::min(limit / 16, kBytesMax);
  if (bytes < kBytesMin || !memory_.try_reserve_best_effort(bytes)) return nullptr;
  spare_blocks_ = std::make_shared<SpareBlocks>(bytes);
  return spare_blocks_;
}

void ReaderResources::drop_spare_blocks() {
  const std::lock_guard lock(mutex_);
  if (spare_blocks_ == nullptr) return;
  memory_.release_best_effort(spare_blocks_->bytes_max());
  spare_blocks_ = nullptr;
}

std::optional<ManifestShard> ReaderResources::find_in_manifest(const std::string& file) {
  const std::lock_guard lock(manifests_mutex_);
  return manifests_.find(file);
}

}  // namespace infeed::detail
