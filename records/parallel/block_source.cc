#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include <infeed/detail/begin_thread.h>
#include <infeed/detail/hand_off.h>
#include <infeed/detail/workers.h>

#include "parallel/compressed_blocks.h"
#include "parallel/record_source.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t kToEnd = std::numeric_limits<std::uint64_t>::max();

/// Returns false also if `work` throws: the reader meets the same error there again, and reports it.
template <class Work>
bool succeeds(const Work& work) {
  try {
    return work();
  } catch (const std::exception&) {
    return false;
  }
}

/// A block on its way from the file to whoever takes it.
struct Piece {
  RecordBlock block;
  std::size_t verified = 0;  ///< records from the first on
  bool is_read = false;
  bool is_good = true;  ///< no thread has found anything wrong so far
  bool is_done = false;

  void verify() {
    while (is_good && verified < block.size()) is_good = block.is_valid(verified++);
  }
};

/// Threads that read and verify blocks of a file in its order, some way ahead of the consumer. No
/// thread waits for another: a block that is read before its turn is framed by the thread that frames
/// the block before it.
///
/// Invariants: hand_off_ guards all members below it. Only a piece's block belongs to the thread that
/// reads, frames or verifies it. Every claimed piece gets done and taken, also if the number of threads
/// falls meanwhile. No thread claims or frames behind a piece that isn't good.
class BlockThreads {
 public:
  BlockThreads(const ParallelRecordReaderOptions& options, const RecordReader& reader,
               std::vector<Segment> segments)
      : options_(options),
        file_name_(reader.file()),
        compression_(reader.compression()),
        segments_(std::move(segments)),
        threads_max_(std::clamp<std::uint64_t>(blocks_about(reader), 1, options.threads)) {
    const std::uint64_t ahead = options.read_ahead_bytes / options.segment_bytes;
    pieces_.resize(std::max(std::min(ahead, blocks_about(reader)), threads_max_ + 1));
  }
  ~BlockThreads() { hand_off_.stop(); }

  /// Sets the number of threads to the wanted one. They begin at `position` if no piece is under way.
  /// Returns false if none is and no thread is wanted, or the file can't be opened.
  bool work_from(RecordPosition position) {
    const int wanted = threads_wanted();
    const auto lock = hand_off_.lock();
    if (wanted == 0 && taken_ == claimed_) close();
    if (wanted != 0 && file_ == nullptr && !open(position)) return false;
    if (wanted != workers_.count()) workers_.set_count(wanted);
    workers_.wake_one();
    return file_ != nullptr;
  }

  enum class Taken { good, bad, end };
  /// Replaces `block`, which holds no memory, by the next one. Behind a bad one no piece is under way.
  Taken take(RecordBlock& block) {
    auto lock = hand_off_.lock();
    const auto is_there = [this] { return taken_ == claimed_ ? is_over_ : front().is_done; };
    if (!is_there()) {
      call_around(options_.around_waiting, [&] { is_ready_.wait(lock, is_there); });
    }
    if (taken_ == claimed_) return Taken::end;
    const bool is_good = front().is_good;
    pop(block);
    if (is_good) {
      workers_.wake_one();
    } else {
      drop_rest(lock);
    }
    return is_good ? Taken::good : Taken::bad;
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  std::uint64_t blocks_about(const RecordReader& reader) const {
    if (compression_ != Compression::none) return segments_.size();
    return reader.file_bytes().value_or(0) / options_.segment_bytes + 1;
  }
  int threads_wanted() const {
    if (options_.threads_now == nullptr) return static_cast<int>(threads_max_);
    const std::uint64_t wanted = options_.threads_now->load(std::memory_order_relaxed);
    const std::uint64_t least = compression_ == Compression::none ? 0 : 1;
    return static_cast<int>(std::clamp(wanted, least, threads_max_));
  }

  bool open(RecordPosition position) {
    const BlockFileOptions options = {
        .compression = compression_,
        .block_bytes = options_.segment_bytes,
        .large_block_bytes = options_.read_ahead_bytes / (threads_max_ + 1),
        .record_bytes_max = options_.reader.record_bytes_max,
        .verifies_payloads = options_.reader.verify == Verify::everything,
        .spare_blocks = options_.spare_blocks,
        .free_bytes_max = 4 * options_.read_ahead_bytes};
    is_broken_ = false;
    is_over_ = !succeeds([&] {
      file_ = compression_ == Compression::none
                  ? open_block_file(file_name_, position, options)
                  : make_segment_blocks(file_name_, position, options, segments_);
      return true;
    });
    return !is_over_;
  }
  void close() {
    file_ = nullptr;
    is_over_ = true;
  }
  void drop_rest(Lock& lock) {
    for (RecordBlock dropped; taken_ != claimed_; dropped.forget()) {
      is_ready_.wait(lock, [this] { return front().is_done; });
      pop(dropped);
    }
    close();
  }

  Piece& piece(std::uint64_t number) { return pieces_[number % pieces_.size()]; }
  Piece& front() { return piece(taken_); }
  /// Swaps the first piece's block with `block`, which holds no memory.
  void pop(RecordBlock& block) {
    std::swap(front().block, block);
    bytes_ahead_ -= block.claimed_bytes();
    ++taken_;
  }

  /// Allows the threads at work their share of the read-ahead, and always one piece more than threads.
  bool has_work() const {
    const auto active = static_cast<std::uint64_t>(workers_.count());
    const std::uint64_t ahead = claimed_ - taken_;
    const bool is_within =
        ahead < pieces_.size() * active / threads_max_ && bytes_ahead_ < options_.read_ahead_bytes;
    return !is_over_ && (ahead <= active || is_within);
  }

  Piece* claim() {
    if (!has_work()) return nullptr;
    Piece& next = piece(claimed_);
    if (!file_->claim(next.block)) {
      is_over_ = true;
      is_ready_.wake_one();
      return nullptr;
    }
    next.verified = 0;
    next.is_read = next.is_done = false;
    next.is_good = true;
    ++claimed_;
    bytes_ahead_ += next.block.claimed_bytes();
    return &next;
  }

  void work(Lock& lock, Piece& own) {
    lock.unlock();
    call_around(options_.around_decoding, [&] { read_and_finish(lock, own); });
    HandOff::lock_again(lock);
  }

  /// Reads the piece, and finishes all pieces whose turn it then is. Called and left without the lock.
  void read_and_finish(Lock& lock, Piece& own) {
    succeeds([&] {
      own.block.file().read(own.block);
      return true;
    });
    own.verify();  // the records that read() has found already
    HandOff::lock_again(lock);
    own.is_read = true;
    while (!is_framing_ && framed_ != claimed_ && piece(framed_).is_read)
      finish(lock, piece(framed_));
    lock.unlock();
  }

  void finish(Lock& lock, Piece& next) {
    BlockFile& file = next.block.file();
    is_framing_ = true;
    const bool can_be_framed = next.is_good && !is_broken_;
    lock.unlock();
    next.is_good = can_be_framed && succeeds([&] { return file.frame(next.block); });
    HandOff::lock_again(lock);
    is_framing_ = false;
    ++framed_;
    note(next);
    lock.unlock();
    if (next.is_good) next.is_good = succeeds([&] { return file.complete(next.block); });
    next.verify();
    HandOff::lock_again(lock);
    note(next);
    next.is_done = true;
    if (&next == &front()) is_ready_.wake_one();
  }
  void note(const Piece& piece) {
    if (!piece.is_good) is_over_ = is_broken_ = true;
  }

  const ParallelRecordReaderOptions options_;
  const std::string file_name_;
  const Compression compression_;
  const std::vector<Segment> segments_;  ///< empty for a plain file
  const std::uint64_t threads_max_;
  HandOff hand_off_;
  WaitPoint is_ready_{hand_off_};
  std::shared_ptr<BlockFile> file_;  ///< null if no piece is under way
  std::vector<Piece> pieces_;        ///< piece i is in place i % size
  std::uint64_t claimed_ = 0;
  std::uint64_t framed_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t bytes_ahead_ = 0;  ///< claimed and not taken
  bool is_framing_ = false;
  bool is_over_ = true;     ///< no more pieces to claim
  bool is_broken_ = false;  ///< a piece isn't good
  Workers<Piece> workers_{hand_off_,
                          {.begin = [this] { begin_thread("reader", options_.on_thread_start); },
                           .claim = [this](std::size_t) { return claim(); },
                           .has_work = [this] { return has_work(); },
                           .run = [this](Lock& lock, Piece& own) { work(lock, own); }}};
};

/// Hands out the records of good blocks. In place of a bad block the RecordReader reads, which knows
/// the policies for damage; behind it the threads begin anew. The reader also reads while no thread is
/// wanted.
class BlockSource final : public RecordSource {
 public:
  BlockSource(const ParallelRecordReaderOptions& options, RecordReader& reader,
              std::vector<Segment> segments)
      : threads_(options, reader, std::move(segments)),
        reader_(reader),
        piece_bytes_(options.segment_bytes) {}

  std::size_t read(std::span<Record> out) override {
    if (!std::exchange(has_begun_, true)) begin();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    std::size_t count = 0;
    while (count == 0 && !ended_) {
      if (given_ != block_.size()) {
        count = block_.hand_out(given_, out);
        given_ += count;
      } else if (reads_until_) {
        count = read_on(out);
      } else {
        take();
      }
    }
    return count;
  }

 private:
  /// Begins where the reader stands, since the user may have skipped records.
  void begin() {
    position_ = reader_.position();
    if (position_.record != 0 && is_gzip()) let_reader_read(kToEnd);
  }

  bool is_gzip() const { return reader_.compression() == Compression::gzip; }

  void take() {
    block_.forget();
    given_ = 0;
    if (!threads_.work_from(position_)) return let_reader_read(position_.offset + piece_bytes_);
    switch (threads_.take(block_)) {
      case BlockThreads::Taken::good:
        if (block_.size() != 0) position_ = block_.next();
        break;
      case BlockThreads::Taken::bad:
        block_.forget();
        let_reader_read(block_.end());
        break;
      case BlockThreads::Taken::end:
        finish();
        break;
    }
  }

  void let_reader_read(std::uint64_t until) {
    // A gzip file has one checksum for the whole file.
    reads_until_ = is_gzip() ? kToEnd : until;
    reader_.continue_at(position_);
  }

  std::size_t read_on(std::span<Record> out) {
    std::size_t count = 0;
    try {
      while (count < out.size() && reader_.position().offset < *reads_until_) {
        ended_ = !reader_.next(out[count]);
        if (ended_) return count;
        ++count;
      }
    } catch (...) {
      if (count == 0) throw;
      error_ = std::current_exception();  // thrown behind the records before it
      return count;
    }
    position_ = reader_.position();
    if (position_.offset >= *reads_until_) reads_until_.reset();
    return count;
  }

  void finish() {
    const bool is_plain = reader_.compression() == Compression::none;
    if (is_plain && position_.offset < reader_.file_bytes().value_or(0)) {
      let_reader_read(kToEnd);  // to report that the file became shorter
    } else {
      ended_ = true;
    }
  }

  BlockThreads threads_;
  RecordReader& reader_;
  const std::uint64_t piece_bytes_;
  RecordBlock block_;
  std::size_t given_ = 0;                     // records of block_ that were handed out
  RecordPosition position_;                   // first record behind block_
  std::optional<std::uint64_t> reads_until_;  // set while the reader reads, up to this offset
  std::exception_ptr error_;
  bool has_begun_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<RecordSource> make_block_source(const ParallelRecordReaderOptions& options,
                                                RecordReader& reader,
                                                std::vector<Segment> segments) {
  return std::make_unique<BlockSource>(options, reader, std::move(segments));
}

}  // namespace infeed::detail
