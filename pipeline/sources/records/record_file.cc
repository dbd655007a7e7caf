#include "sources/records/record_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <infeed/records/files.h>
#include <infeed/records/lost_records.h>

namespace infeed::detail {
namespace {

constexpr std::uint64_t kSegmentBytesMin = std::uint64_t{64} << 10;
constexpr std::uint64_t kSegmentBytesMax = std::uint64_t{1} << 20;

constexpr std::uint64_t kBlockBytesMin = std::uint64_t{64} << 10;

RecordReaderOptions reader_options(const RecordsOptions& options, std::size_t block_bytes,
                                   std::shared_ptr<MappedFiles> mapped = nullptr) {
  return {.compression = options.compression,
          .verify = options.verify,
          .damage = options.damage,
          .on_damage = options.on_damage,
          .block_bytes = block_bytes,
          .record_bytes_max = options.record_bytes_max,
          .url = options.url,
          .mapped_files = std::move(mapped)};
}

}  // namespace

RecordFile::RecordFile(const std::string& file, const RecordsOptions& options,
                       std::shared_ptr<MappedFiles> mapped, IteratorContext& run,
                       ReaderThreads* ahead)
    : file_(file), run_(run), ahead_(options.parallelism == 1 ? nullptr : ahead) {
  // A file that is mapped needs no threads that copy it, if the choice is ours.
  if (mapped != nullptr && options.parallelism == autotune && may_have_blocks(file))
    open_reader(file, options, mapped);
  const bool is_mapped = reader_ && compression() == Compression::none;
  if (ahead_ != nullptr && !run.is_inline() && !is_mapped) {
    threads_.emplace(run.threads());
    const int wanted = options.parallelism == autotune
                           ? run.concurrency()
                           : static_cast<int>(options.parallelism.value());
    if (threads_->grow(wanted) > 1) {
      reader_.reset();
      buffers_.release();
      open_parallel(file, options);
    }
  }
  if (!parallel_) {
    threads_.reset();
    if (!reader_) open_reader(file, options, std::move(mapped));
    if (ahead_ != nullptr) ahead_->begin(1, options.parallelism == autotune);
  }
}

/// Shorter blocks where the account has no room for whole ones: hundreds of files may be open.
void RecordFile::open_reader(const std::string& file, const RecordsOptions& options,
                             std::shared_ptr<MappedFiles> mapped) {
  std::uint64_t block_bytes = options.block_bytes;
  while (!buffers_.try_grow_to(run_.memory(), block_bytes) && block_bytes > kBlockBytesMin) {
    block_bytes /= 2;
  }
  reader_.emplace(
      file, reader_options(options, static_cast<std::size_t>(block_bytes), std::move(mapped)));
  // The records' block, and of a compressed file the one that is decompressed.
  const std::uint64_t file_block_bytes = std::min(block_bytes, file_bytes().value_or(block_bytes));
  const bool is_plain = compression() == Compression::none;
  buffers_.set(run_.memory(), is_plain ? file_block_bytes : block_bytes + file_block_bytes);
}

/// As much ahead as the account has room for; not at all when that is too little to share.
void RecordFile::open_parallel(const std::string& file, const RecordsOptions& options) {
  const int threads = threads_->count();
  const auto shares = static_cast<std::uint64_t>(threads) + 1;
  const std::uint64_t wanted = options.read_ahead_bytes == autotune
                                   ? 2 * kSegmentBytesMax * static_cast<std::uint64_t>(threads)
                                   : std::uint64_t{options.read_ahead_bytes};
  std::uint64_t bytes = std::max(wanted, shares * kSegmentBytesMin);
  while (!run_.memory().try_reserve_best_effort(bytes)) {
    bytes /= 2;
    if (bytes < shares * kSegmentBytesMin) return;
  }
  reserved_bytes_ = bytes;
  try {
    parallel_.emplace(
        file, ParallelRecordReaderOptions{
                  .reader = reader_options(options, options.block_bytes),
                  .threads = static_cast<unsigned>(threads),
                  .segment_bytes = std::min(bytes / shares, kSegmentBytesMax),
                  .read_ahead_bytes = bytes,
                  .spare_blocks = run_.readers().spare_blocks(file),
                  .on_thread_start = run_.on_thread_start(),
                  .threads_now = ahead_->now(),
                  .around_decoding = [ahead = ahead_](const auto& work) { ahead->decode(work); },
                  .around_waiting = [ahead = ahead_](const auto& work) { ahead->wait(work); }});
  } catch (...) {
    give_back();
    throw;
  }
  if (compression() == Compression::none) {
    const std::uint64_t held_bytes = std::min(bytes, file_bytes().value_or(bytes));
    run_.memory().release_best_effort(bytes - held_bytes);
    reserved_bytes_ = held_bytes;
  }
  ahead_->begin(threads, options.parallelism == autotune);
}

void RecordFile::give_back() {
  parallel_.reset();
  if (reserved_bytes_ != 0) run_.memory().release_best_effort(std::exchange(reserved_bytes_, 0));
}

std::size_t RecordFile::read(std::span<Record> out) {
  if (ahead_ == nullptr) return reader_->read(out);
  const ReaderThreads::Reading reading(*ahead_);
  return parallel_ ? parallel_->read(out) : reader_->read(out);
}

std::uint64_t RecordFile::skip(std::uint64_t count) {
  return parallel_ ? parallel_->skip(count) : reader_->skip(count);
}

bool RecordFile::may_have_blocks(const std::string& file) {
  std::error_code error;
  return !is_url(file) && std::filesystem::is_regular_file(file, error);
}

bool RecordFile::has_blocks() const {
  if (!reader_ || !file_bytes() || is_url(file_)) return false;
  return compression() == Compression::none || position() == RecordPosition();
}

std::uint64_t RecordFile::passed() const {
  if (parallel_) return parallel_->records_passed();
  return reader_->position().record - records_numbered_as_lost(reader_->damaged());
}

Compression RecordFile::compression() const {
  return parallel_ ? parallel_->compression() : reader_->compression();
}

std::optional<std::uint64_t> RecordFile::file_bytes() const {
  return parallel_ ? parallel_->file_bytes() : reader_->file_bytes();
}

Lost RecordFile::rest(RecordPosition position) const {
  return count_rest(file_, compression(), file_bytes(), position);
}

std::optional<std::uint64_t> RecordFile::records_of(const DamagedRange& range) const {
  if (compression() != Compression::none || !file_bytes()) return std::nullopt;
  return count_records_between(file_, *file_bytes(), range.begin, range.end);
}

}  // namespace infeed::detail
