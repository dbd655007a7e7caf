#include "parallel/zstd_frames.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>
#include <zstd.h>

#include <infeed/detail/begin_thread.h>
#include <infeed/detail/hand_off.h>
#include <infeed/detail/workers.h>

#include "codec/skippable_frame.h"
#include "codec/zstd_source.h"
#include "infeed/error.h"
#include "infeed/records/limits.h"
#include "io/input_file.h"
#include "io/little_endian.h"

namespace infeed::detail {
namespace {

constexpr std::uint32_t kTableMagic = kSkippableMagic + 0xe;
constexpr std::string_view kTableEnd{"\xb1\xea\x92\x8f", 4};
constexpr std::size_t kFooterBytes = 9;  // number of frames, flags, kTableEnd
constexpr std::uint64_t kTableBytesMax = std::uint64_t{64} << 20;

struct FrameSizes {
  std::uint32_t stored = 0;
  std::uint32_t decompressed = 0;
};

std::string read_part(const InputFile& file, std::uint64_t offset, std::uint64_t bytes) {
  std::string part(bytes, '\0');
  part.resize(file.read_at(offset, part));
  return part;
}

/// Returns the sizes in the table at a file's end, whose bytes go to `table_bytes`.
std::vector<FrameSizes> read_table(const InputFile& file, std::uint64_t file_bytes,
                                   std::uint64_t& table_bytes) {
  constexpr unsigned char kHasChecksums = 0x80;
  constexpr unsigned char kReserved = 0x7c;
  if (file_bytes < kSkippableHeaderBytes + kFooterBytes) return {};
  const std::string footer = read_part(file, file_bytes - kFooterBytes, kFooterBytes);
  if (footer.size() != kFooterBytes || !footer.ends_with(kTableEnd)) return {};
  const auto flags = static_cast<unsigned char>(footer[4]);
  const std::size_t entry_bytes = (flags & kHasChecksums) != 0 ? 12 : 8;
  const std::uint64_t content =
      load_little<std::uint32_t>(footer.data()) * std::uint64_t{entry_bytes} + kFooterBytes;
  table_bytes = kSkippableHeaderBytes + content;
  if ((flags & kReserved) != 0 || table_bytes > std::min(file_bytes, kTableBytesMax)) return {};
  const std::string table = read_part(file, file_bytes - table_bytes, table_bytes);
  if (table.size() != table_bytes || load_little<std::uint32_t>(table.data()) != kTableMagic ||
      load_little<std::uint32_t>(table.data() + 4) != content) {
    return {};
  }
  std::vector<FrameSizes> sizes;
  const char* const end = table.data() + table.size() - kFooterBytes;
  for (const char* at = table.data() + kSkippableHeaderBytes; at != end; at += entry_bytes) {
    sizes.push_back({load_little<std::uint32_t>(at), load_little<std::uint32_t>(at + 4)});
  }
  return sizes;
}

std::vector<Segment> read_frames(const InputFile& file) {
  const std::uint64_t file_bytes = file.size_bytes().value_or(0);
  std::uint64_t table_bytes = 0;
  std::vector<Segment> frames;
  Segment next;
  for (const FrameSizes& sizes : read_table(file, file_bytes, table_bytes)) {
    const bool is_sane = sizes.stored != 0 && sizes.stored <= limits::segment_bytes &&
                         sizes.decompressed <= limits::segment_bytes;
    if (!is_sane) return {};
    next.file_end = next.file_begin + sizes.stored;
    next.stream_end = next.stream_begin + sizes.decompressed;
    frames.push_back(next);
    next = {next.stream_end, next.stream_end, next.file_end, next.file_end};
  }
  return next.file_begin + table_bytes == file_bytes ? frames : std::vector<Segment>();
}

/// False for a frame whose header asks for a larger window than make_zstd_source() gives. Where the
/// window is the whole content, the table has bounded it.
bool has_window_within_limit(std::string_view frame) {
  constexpr std::size_t kFlagsAt = 4;
  constexpr unsigned char kIsOneSegment = 0x20;
  constexpr unsigned kLogMin = 10;
  if (frame.size() < kFlagsAt + 2 || !frame.starts_with(kZstdMagic)) return true;
  const auto flags = static_cast<unsigned char>(frame[kFlagsAt]);
  const auto window = static_cast<unsigned char>(frame[kFlagsAt + 1]);
  const std::uint64_t base = std::uint64_t{1} << (kLogMin + (window >> 3));
  const std::uint64_t bytes = base + base / 8 * (window & 7);
  return (flags & kIsOneSegment) != 0 || bytes <= std::uint64_t{1} << limits::zstd_window_log;
}

/// The bytes that the largest frame takes, compressed and not.
std::uint64_t bytes_of_largest(const std::vector<Segment>& frames) {
  std::uint64_t stored = 0;
  std::uint64_t decompressed = 0;
  for (const Segment& frame : frames) {
    stored = std::max(stored, frame.file_end - frame.file_begin);
    decompressed = std::max(decompressed, frame.stream_end - frame.stream_begin);
  }
  return stored + decompressed;
}

/// Invariants: hand_off_ guards the members behind it. A piece's buffers belong to the thread that
/// decompresses it until it is done, then to the reading thread.
class ZstdFrames final : public ByteSource {
 public:
  ZstdFrames(std::string name, std::size_t input_block_bytes, ThreadsAhead ahead,
             std::vector<Segment> frames, std::size_t pieces)
      : name_(std::move(name)),
        input_block_bytes_(input_block_bytes),
        ahead_(std::move(ahead)),
        frames_(std::move(frames)),
        file_(open_input_file(name_)),
        pieces_(pieces) {}
  ~ZstdFrames() override { hand_off_.stop(); }

  std::size_t read(std::span<char> into) override {
    while (serial_ == nullptr) {
      if (has_front_ && given_ != front().plain.size()) {
        const std::size_t count = std::min(into.size(), front().plain.size() - given_);
        std::memcpy(into.data(), front().plain.data() + given_, count);
        given_ += count;
        position_ += count;
        return count;
      }
      if (!take()) return 0;
    }
    return serial_->read(into);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Piece {
    std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{nullptr, &ZSTD_freeDCtx};
    Segment frame;
    std::string stored;
    std::string plain;
    bool is_done = false;
    bool is_good = false;
  };

  Piece& piece(std::size_t number) { return pieces_[number % pieces_.size()]; }
  Piece& front() { return piece(taken_); }

  /// Goes to the next frame, or to another way to read. Returns false at the end.
  bool take() {
    Lock lock = hand_off_.lock();
    if (std::exchange(has_front_, false)) ++taken_;
    if (taken_ == frames_.size()) return false;
    workers_.wake_one();
    if (!has_threads()) return read_serially(lock);
    is_ready_.wait(lock, [this] { return taken_ != claimed_ && front().is_done; });
    if (!front().is_good) return read_serially(lock);
    has_front_ = true;
    given_ = 0;
    return true;
  }

  /// Starts the threads at the first call. Returns false where the system gives none.
  bool has_threads() {
    if (workers_.count() != 0) return true;
    try {
      return workers_.set_count(static_cast<int>(ahead_.threads)) != 0;
    } catch (const Error&) {
      return false;
    }
  }

  /// Reads from here on as a file without a table.
  bool read_serially(Lock& lock) {
    is_over_ = true;
    lock.unlock();
    auto plain = make_plain_source(File::open_to_read(name_), {});
    serial_ = make_zstd_source(name_, std::move(plain), input_block_bytes_);
    std::string dropped(std::min<std::uint64_t>(position_, std::size_t{1} << 20), '\0');
    for (std::uint64_t left = position_; left != 0;) {
      const std::uint64_t step = std::min<std::uint64_t>(left, dropped.size());
      const std::size_t got = serial_->read(std::span(dropped).first(step));
      if (got == 0) throw StreamDamage{"the file changed while it was read"};
      left -= got;
    }
    return true;
  }

  bool has_work() const {
    return !is_over_ && claimed_ != frames_.size() && claimed_ - taken_ < pieces_.size();
  }
  Piece* claim() {
    if (!has_work()) return nullptr;
    Piece& next = piece(claimed_);
    next.frame = frames_[claimed_++];
    next.is_done = false;
    return &next;
  }
  void work(Lock& lock, Piece& own) {
    lock.unlock();
    try {
      own.is_good = decompress(own);
    } catch (const std::exception&) {  // whoever reads from here on meets it again
      own.is_good = false;
    }
    HandOff::lock_again(lock);
    own.is_done = true;
    if (&own == &front()) is_ready_.wake_one();
  }
  bool decompress(Piece& own) const {
    if (own.context == nullptr) own.context.reset(ZSTD_createDCtx());
    if (own.context == nullptr) return false;
    own.stored.resize(own.frame.file_end - own.frame.file_begin);
    own.plain.resize(own.frame.stream_end - own.frame.stream_begin);
    if (file_->read_at(own.frame.file_begin, own.stored) != own.stored.size()) return false;
    for (std::string_view left = own.stored; !left.empty();) {
      const std::size_t size = ZSTD_findFrameCompressedSize(left.data(), left.size());
      if (ZSTD_isError(size) != 0 || !has_window_within_limit(left)) return false;
      left.remove_prefix(size);
    }
    return ZSTD_decompressDCtx(own.context.get(), own.plain.data(), own.plain.size(),
                               own.stored.data(), own.stored.size()) == own.plain.size();
  }

  const std::string name_;
  const std::size_t input_block_bytes_;
  const ThreadsAhead ahead_;
  const std::vector<Segment> frames_;
  const std::unique_ptr<InputFile> file_;
  std::unique_ptr<ByteSource> serial_;  ///< reads on where the threads can't
  std::uint64_t position_ = 0;          ///< bytes given
  std::size_t given_ = 0;               ///< those of the first piece
  bool has_front_ = false;              ///< the reading thread has the first piece
  HandOff hand_off_;
  WaitPoint is_ready_{hand_off_};
  std::vector<Piece> pieces_;  ///< frame i is in place i % size
  std::size_t claimed_ = 0;
  std::size_t taken_ = 0;
  bool is_over_ = false;  ///< no more frames to claim
  Workers<Piece> workers_{hand_off_,
                          {.begin = [this] { begin_thread("reader", ahead_.on_thread_start); },
                           .claim = [this](std::size_t) { return claim(); },
                           .has_work = [this] { return has_work(); },
                           .run = [this](Lock& lock, Piece& own) { work(lock, own); }}};
};

}  // namespace

std::vector<Segment> find_zstd_frames(const std::string& file) try {
  std::error_code ignored;
  // A pipe is not even opened: its writer would take that for the reader that it waits for.
  if (!std::filesystem::is_regular_file(file, ignored)) return {};
  std::vector<Segment> frames = read_frames(*open_input_file(file));
  return frames.size() < 2 ? std::vector<Segment>() : frames;
} catch (const Error&) {
  return {};
}

std::uint64_t bytes_of_thread_ahead(const std::string& file) {
  return bytes_of_largest(find_zstd_frames(file));
}

std::unique_ptr<ByteSource> make_zstd_frames_source(const std::string& file,
                                                    std::size_t input_block_bytes,
                                                    const ThreadsAhead& ahead) {
  if (ahead.threads < 2) return nullptr;
  std::vector<Segment> frames = find_zstd_frames(file);
  const std::uint64_t piece_bytes = std::max<std::uint64_t>(bytes_of_largest(frames), 1);
  // One piece more than threads, which the reading thread has.
  const std::uint64_t pieces =
      std::min<std::uint64_t>({ahead.bytes_max / piece_bytes, frames.size(), ahead.threads + 1ULL});
  if (pieces < 2) return nullptr;
  return std::make_unique<ZstdFrames>(file, input_block_bytes, ahead, std::move(frames), pieces);
}

}  // namespace infeed::detail
