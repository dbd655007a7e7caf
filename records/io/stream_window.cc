#include "io/stream_window.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace infeed::detail {

namespace {

constexpr std::size_t kFirstReadAfterJumpBytes = 4096;

}  // namespace

StreamWindow::StreamWindow(std::unique_ptr<ByteSource> source, std::shared_ptr<BlockPool> pool,
                           std::size_t block_bytes, std::shared_ptr<MappedFiles> mapped_files)
    : source_(std::move(source)),
      pool_(std::move(pool)),
      block_bytes_(block_bytes_for(*source_, block_bytes)),
      mapped_files_(std::move(mapped_files)) {}

std::optional<std::uint64_t> StreamWindow::remaining_bytes() const {
  const auto size = source_->size_bytes();
  // A file that has grown since it was opened has an end that isn't known.
  if (!size || offset_ + this->size() > *size) return std::nullopt;
  return *size - offset_;
}

void StreamWindow::make_room(std::size_t bytes) {
  const std::size_t kept = size();
  // A length is only a claim unless the stream is known to be that long. Until then room is at most
  // double the bytes that have arrived.
  const bool is_there = remaining_bytes().value_or(0) >= bytes;
  std::size_t capacity = std::max(block_bytes_, is_there ? bytes : std::min(bytes, 2 * kept));
  if (capacity > block_bytes_) capacity = std::bit_ceil(capacity);
  // A search among headers that claim a lot moves many bytes to gain little room. Extra room for
  // some more of them keeps each from moving all again.
  if (kept > bytes / 2 && capacity < bytes + bytes / 4) capacity *= 2;
  capacity += kBlockLeadBytes;
  const bool is_ours_alone = block_ && block_->references.load(std::memory_order_acquire) == 1;
  BlockReference other;
  if (!is_ours_alone || block_->capacity_bytes < capacity) {
    other = BlockReference(pool_->take(capacity));
  }
  char* const front = front_of(other ? *other : *block_);
  if (kept != 0) std::memmove(front, begin_, kept);
  if (other) block_ = std::move(other);
  block_->stream_offset = offset_ - static_cast<std::uint64_t>(front - block_->data);
  begin_ = front;
  end_ = front + kept;
}

/// Maps the source's file, if that is possible. The window holds no bytes yet.
void StreamWindow::begin_mapping() {
  const auto files = std::exchange(mapped_files_, nullptr);
  const File* const file = source_->plain_file();
  const auto size = source_->size_bytes();
  if (file == nullptr || !size || offset_ > *size) return;
  mapped_ = files->of(*file, *size);
  if (mapped_ == nullptr) return;
  block_ = BlockReference(make_view(pool_->file(), mapped_->data(), mapped_));
  begin_ = end_ = block_->data + offset_;
}

/// Brings more of the mapped file into memory. Returns false where it has too little, or the disk
/// fails: then the source goes on, which says what it finds there.
bool StreamWindow::bring(std::size_t bytes) {
  const std::uint64_t begin = offset_ + size();
  const std::uint64_t least = bytes - size();
  const std::uint64_t usual =
      std::exchange(jumped_, false) ? kFirstReadAfterJumpBytes : block_bytes_;
  const std::uint64_t left = mapped_->size_bytes() - begin;
  const std::uint64_t count = std::min(std::max(least, usual), left);
  if (count >= least && mapped_->bring(begin, begin + count)) {
    end_ += count;
    return true;
  }
  mapped_ = nullptr;
  source_->seek(begin);
  make_room(bytes);
  return false;
}

bool StreamWindow::fill(std::size_t bytes) {
  if (mapped_files_ != nullptr) begin_mapping();
  if (mapped_ != nullptr && bring(bytes)) return true;
  constexpr std::size_t kLargeBytes = std::size_t{32} << 10;
  if (bytes >= kLargeBytes) large_bytes_ = bytes;
  while (size() < bytes) {
    if (ended_) return false;
    std::size_t room =
        block_ ? static_cast<std::size_t>(block_->data + block_->capacity_bytes - end_) : 0;
    // Makes room also when there is some at the end but the record doesn't fit: it would be moved
    // anyway.
    const bool is_too_little = size() + room < bytes || (size() == 0 && room < room_preferred());
    if (room == 0 || (is_too_little && begin_ != front_of(*block_))) {
      make_room(bytes);
      room = static_cast<std::size_t>(block_->data + block_->capacity_bytes - end_);
    }
    if (std::exchange(jumped_, false)) {
      room = std::min(room, std::max(bytes - size(), kFirstReadAfterJumpBytes));
    } else if (bytes > block_bytes_) {
      room = std::min(room, bytes - size());  // bytes that follow would only have to be moved
    } else {
      room -= part_of_another(size() + room);
    }
    const std::size_t got = read_source({end_, room});
    if (got == 0) ended_ = true;
    end_ += got;
  }
  return true;
}

/// Returns how many of `bytes` would only have to be moved, if large records are about as long as
/// the last one.
std::size_t StreamWindow::part_of_another(std::size_t bytes) const {
  constexpr std::size_t kSpreadBytes = 4096;
  if (large_bytes_ == 0 || bytes < large_bytes_ + kSpreadBytes) return 0;
  return (bytes - kSpreadBytes) % large_bytes_;
}

std::size_t StreamWindow::room_preferred() const {
  return std::min(source_->room_preferred(), block_bytes_);
}

std::size_t StreamWindow::read_source(std::span<char> into) {
  try {
    return source_->read(into);
  } catch (const StreamDamage& damage) {
    damage_ = damage;
    return 0;
  }
}

bool StreamWindow::discard(std::uint64_t bytes) {
  // Reading on costs less than a jump while the gap is small.
  constexpr std::uint64_t kJumpBytesMin = std::uint64_t{64} << 10;
  if (bytes >= size() + kJumpBytesMin && is_seekable() && bytes <= remaining_bytes().value_or(0)) {
    seek(offset_ + bytes);
    return true;
  }
  while (bytes > 0) {
    if (size() == 0 && !ensure(1)) return false;
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size()));
    consume(now);
    bytes -= now;
  }
  return true;
}

bool StreamWindow::resume_behind_damage() {
  const auto damage = std::exchange(damage_, std::nullopt);
  if (!damage || !damage->resumes_at) {
    consume(size());
    return false;
  }
  start_at(*damage->resumes_at);
  return true;
}

void StreamWindow::seek(std::uint64_t offset) {
  source_->seek(offset);
  start_at(offset);
  jumped_ = true;
}

void StreamWindow::start_at(std::uint64_t offset) {
  offset_ = offset;
  ended_ = false;
  damage_.reset();
  if (mapped_ != nullptr && offset <= mapped_->size_bytes()) {
    begin_ = end_ = block_->data + offset;
    return;
  }
  mapped_ = nullptr;
  block_ = BlockReference();  // its offsets belong to the old place
  begin_ = end_ = nullptr;
}

}  // namespace infeed::detail
