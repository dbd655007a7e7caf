#include "remote/url_file.h"

#include <algorithm>
#include <cstring>

namespace infeed::detail {

UrlFile::UrlFile(const std::string& name, const UrlOptions& options)
    : transfers_(UrlTarget(name), options) {
  const std::size_t bytes = std::clamp<std::size_t>(options.range_bytes, 1, kFirstRangeBytes);
  front_ = transfers_.start(Transfer::Kind::opening, 0, bytes);
  transfers_.wait(*front_, 0, 1);
  size_ = transfers_.identity().size_bytes;
  front_bytes_ = transfers_.size_of(*front_);
}

std::size_t UrlFile::read_at(std::uint64_t offset, std::span<char> into) const {
  if (offset >= size_) return 0;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), size_ - offset));
  const bool is_in_front = offset + count <= front_bytes_;
  const std::shared_ptr<Transfer> transfer =
      is_in_front ? front_ : transfers_.start(Transfer::Kind::range, offset, count);
  const std::size_t begin = is_in_front ? static_cast<std::size_t>(offset) : 0;
  try {
    const std::size_t filled = transfers_.wait(*transfer, begin, count);
    const std::size_t got = std::min(filled - begin, count);
    std::memcpy(into.data(), transfer->bytes.get() + begin, got);
    return got;
  } catch (...) {
    if (!is_in_front) transfers_.abandon(*transfer);
    throw;
  }
}

}  // namespace infeed::detail
