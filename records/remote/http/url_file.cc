#include "remote/http/url_file.h"

#include <algorithm>
#include <cstring>

#include "io/remote_files.h"

namespace infeed::detail {

UrlFile::UrlFile(const std::string& name, const UrlOptions& options)
    : transfers_(UrlTarget(name, &environment_of_process, options.credentials.get()), options) {
  const std::size_t bytes = std::clamp<std::size_t>(options.range_bytes, 1, kFirstRangeBytes);
  front_ = transfers_.start(Transfer::Kind::opening, 0, bytes);
  transfers_.wait(*front_, 0, 1);
  size_ = transfers_.identity().size_bytes;
  front_bytes_ = transfers_.size_of(*front_);
}

std::size_t UrlFile::read_at(std::uint64_t offset, std::span<char> into) const {
  if (offset >= size_) return 0;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), size_ - offset));
  if (offset + count <= front_bytes_ && read_front(static_cast<std::size_t>(offset), into)) {
    return count;
  }
  const auto transfer = transfers_.start(Transfer::Kind::range, offset, count);
  try {
    // Bytes before an error are not handed out: the caller would take them for the end.
    for (std::size_t filled = 0; filled < count;) {
      filled = transfers_.wait(*transfer, filled, count - filled);
    }
  } catch (...) {
    transfers_.abandon(*transfer);
    throw;
  }
  std::memcpy(into.data(), transfer->bytes.get(), count);
  return count;
}

/// Copies from the front. Returns false when the front did not come, since the reason may have
/// passed.
bool UrlFile::read_front(std::size_t offset, std::span<char> into) const {
  const std::size_t count = std::min(into.size(), front_bytes_ - offset);
  try {
    if (transfers_.wait(*front_, offset, count) < offset + count) return false;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    return false;
  }
  std::memcpy(into.data(), front_->bytes.get() + offset, count);
  return true;
}

std::unique_ptr<InputFile> open_url_file(const std::string& url, const UrlOptions& options) {
  return std::make_unique<UrlFile>(url, options);
}

}  // namespace infeed::detail
