#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "io/remote_files.h"
#include "remote/http/url_file.h"

namespace infeed::detail {
namespace {

/// A window of ranges that follow each other. Some of them are still to come.
class UrlSource final : public ByteSource {
 public:
  explicit UrlSource(std::unique_ptr<UrlFile> file)
      : file_(std::move(file)),
        transfers_(file_->transfers()),
        options_(transfers_.options()),
        size_(file_->size_bytes().value_or(0)) {
    if (file_->front_bytes() != 0) ahead_.push_back({file_->front(), 0, file_->front_bytes()});
    next_offset_ = file_->front_bytes();
    next_bytes_ = 2 * kFirstRangeBytes;
  }

  std::optional<std::uint64_t> size_bytes() const override { return size_; }
  bool is_seekable() const override { return true; }

  std::size_t read(std::span<char> into) override {
    if (position_ >= size_ || into.empty()) return 0;
    look_ahead();
    const Part& part = ahead_.front();
    const auto have = static_cast<std::size_t>(position_ - part.offset);
    // Handing over a few bytes at a time would cost more than the copies.
    constexpr std::size_t kHandedOverBytes = std::size_t{64} << 10;
    const std::size_t want = std::min({into.size(), kHandedOverBytes, part.bytes - have});
    try {
      const std::size_t filled = transfers_.wait(*part.transfer, have, want);
      const std::size_t got = std::min(filled - have, into.size());
      std::memcpy(into.data(), part.transfer->bytes.get() + have, got);
      position_ += got;
      return got;
    } catch (const Error&) {
      start_at(position_);  // the next call asks anew
      throw;
    }
  }

  void seek(std::uint64_t offset) override {
    const bool is_near =
        !ahead_.empty() && offset >= ahead_.front().offset && offset < next_offset_;
    if (is_near) {
      position_ = offset;
    } else {
      start_at(offset);
    }
  }

 private:
  struct Part {
    std::shared_ptr<Transfer> transfer;
    std::uint64_t offset;
    std::size_t bytes;
  };

  /// Drops ranges that were read and asks for more.
  void look_ahead() {
    while (!ahead_.empty() && ahead_.front().offset + ahead_.front().bytes <= position_) {
      transfers_.abandon(*ahead_.front().transfer);  // a jump may have passed over it
      ahead_.pop_front();
    }
    std::uint64_t bytes = 0;
    for (const Part& part : ahead_) bytes += part.bytes;
    while (next_offset_ < size_ &&
           (ahead_.empty() || (ahead_.size() < options_.ranges_in_flight &&
                               bytes + next_range() <= options_.bytes_in_flight_max))) {
      const std::size_t range = next_range();
      ahead_.push_back(
          {transfers_.start(Transfer::Kind::range, next_offset_, range), next_offset_, range});
      bytes += range;
      next_offset_ += range;
      next_bytes_ = range * 2;
    }
  }

  std::size_t next_range() const {
    const std::size_t wanted =
        std::clamp<std::size_t>(next_bytes_, 1, std::max<std::size_t>(options_.range_bytes, 1));
    return static_cast<std::size_t>(std::min<std::uint64_t>(wanted, size_ - next_offset_));
  }

  void start_at(std::uint64_t offset) {
    for (const Part& part : ahead_) transfers_.abandon(*part.transfer);
    ahead_.clear();
    position_ = offset;
    next_offset_ = offset;
    next_bytes_ = kFirstRangeBytes;
  }

  const std::unique_ptr<UrlFile> file_;
  Transfers& transfers_;
  const UrlOptions& options_;
  const std::uint64_t size_;
  std::deque<Part> ahead_;
  std::uint64_t position_ = 0;
  std::uint64_t next_offset_ = 0;  // behind the ranges asked for
  std::size_t next_bytes_ = 0;
};

}  // namespace

OpenedSource open_url_source(const std::string& url, const SourceOptions& options) {
  auto file = std::make_unique<UrlFile>(url, options.url);
  OpenedSource opened{nullptr, options.compression, file->size_bytes()};
  if (options.compression == Compression::automatic) {
    std::string prefix(kCompressionPrefixBytes, '\0');
    prefix.resize(file->read_at(0, prefix));
    opened.compression = recognise_compression(prefix);
    opened.front = prefix;
  }
  opened.source = std::make_unique<UrlSource>(std::move(file));
  return opened;
}

}  // namespace infeed::detail
