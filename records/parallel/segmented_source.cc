#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <zlib.h>

#include <infeed/detail/begin_thread.h>
#include <infeed/detail/hand_off.h>
#include <infeed/detail/workers.h>

#include "parallel/record_source.h"
#include "parallel/segment_decoder.h"

namespace infeed::detail {
namespace {

/// Threads that decode segments in order, some way ahead of the consumer.
///
/// Invariants: hand_off_ guards all members behind it, except a slot's content and a worker's
/// decoder, which belong to that worker until the slot is done. A claimed segment is decoded and
/// taken, however many threads are wanted by then.
class SegmentThreads {
 public:
  SegmentThreads(const ParallelRecordReaderOptions& options, const RecordReader& reader,
                 std::vector<Segment> segments)
      : options_(options),
        file_(reader.file()),
        compression_(reader.compression()),
        segments_(std::move(segments)),
        threads_max_(std::min<std::size_t>(options.threads, segments_.size())),
        decoders_(threads_max_) {
    const std::uint64_t ahead = options.read_ahead_bytes / options.segment_bytes;
    slots_.resize(std::min<std::uint64_t>(std::max<std::uint64_t>(ahead, options.threads + 1),
                                          segments_.size()));
  }
  ~SegmentThreads() { hand_off_.stop(); }

  const std::vector<Segment>& segments() const { return segments_; }

  /// Starts or ends threads to match threads_wanted(). Segment `next` is taken next. Returns false
  /// when no thread is wanted and none has left a segment to take.
  bool work_on(std::size_t next) {
    const int wanted = threads_wanted();
    const auto lock = hand_off_.lock();
    if (workers_.count() == 0 && claimed_ == taken_) claimed_ = taken_ = next;
    if (wanted != workers_.count()) workers_.set_count(wanted);
    return wanted != 0 || claimed_ != taken_;
  }
  /// Waits for the next segment in order.
  DecodedSegment take() {
    auto lock = hand_off_.lock();
    Slot& slot = slots_[taken_ % slots_.size()];
    const auto is_done = [&] { return taken_ != claimed_ && slot.is_done; };
    if (!is_done()) call_around(options_.around_waiting, [&] { is_ready_.wait(lock, is_done); });
    DecodedSegment decoded = std::move(slot.decoded);
    ++taken_;
    workers_.wake_one();
    return decoded;
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  struct Slot {
    std::size_t segment;
    std::size_t worker;
    bool is_done = false;
    DecodedSegment decoded = {};
  };

  int threads_wanted() const {
    if (options_.threads_now == nullptr) return static_cast<int>(threads_max_);
    const std::size_t wanted = options_.threads_now->load(std::memory_order_relaxed);
    const std::size_t least = compression_ == Compression::none ? 0 : 1;
    return static_cast<int>(std::clamp(wanted, least, threads_max_));
  }

  bool has_work() const {
    return claimed_ < segments_.size() && claimed_ < taken_ + segments_ahead();
  }
  /// Returns the share of the read-ahead that the threads at work have.
  std::size_t segments_ahead() const {
    const auto active = static_cast<std::size_t>(workers_.count());
    return std::max(active + 1, slots_.size() * active / threads_max_);
  }

  Slot* claim(std::size_t worker) {
    if (!has_work()) return nullptr;
    Slot& slot = slots_[claimed_ % slots_.size()];
    slot = {claimed_++, worker};
    return &slot;
  }

  void decode(Lock& lock, Slot& slot) {
    lock.unlock();
    call_around(options_.around_decoding, [&] {
      std::unique_ptr<SegmentDecoder>& decoder = decoders_[slot.worker];
      try {
        if (!decoder) decoder = std::make_unique<SegmentDecoder>(file_, compression_, options_);
        slot.decoded = decoder->decode(segments_[slot.segment]);
      } catch (const std::exception&) {
        slot.decoded.is_good = false;  // the next reader of the file meets and reports it
      }
    });
    HandOff::lock_again(lock);
    slot.is_done = true;
    if (slot.segment == taken_) is_ready_.wake_one();
  }

  const ParallelRecordReaderOptions options_;
  const std::string file_;
  const Compression compression_;
  const std::vector<Segment> segments_;
  const std::size_t threads_max_;
  HandOff hand_off_;
  WaitPoint is_ready_{hand_off_};
  std::vector<Slot> slots_;                                ///< segment i is in slot i % size
  std::vector<std::unique_ptr<SegmentDecoder>> decoders_;  ///< by worker
  std::size_t claimed_ = 0;
  std::size_t taken_ = 0;
  Workers<Slot> workers_{hand_off_,
                         {.begin = [this] { begin_thread("reader", options_.on_thread_start); },
                          .claim = [this](std::size_t worker) { return claim(worker); },
                          .has_work = [this] { return has_work(); },
                          .run = [this](Lock& lock, Slot& slot) { decode(lock, slot); }}};
};

/// Takes a segment only when it begins exactly where the records before it ended. So the source of
/// the segments (an index, a search, flush points) can't make it lose or invent a record. Anywhere
/// else the reader goes on, up to the next segment that fits; so it does where no thread is to
/// work.
class SegmentedSource final : public RecordSource {
 public:
  SegmentedSource(const ParallelRecordReaderOptions& options, std::vector<Segment> segments,
                  RecordReader& reader)
      : threads_(options, reader, std::move(segments)), reader_(reader) {}

  bool fetch(std::vector<Record>& out) override {
    out.clear();
    if (!std::exchange(has_begun_, true)) begin();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    while (out.empty() && !ended_) {
      if (reads_until_) {
        read_on(out);
      } else if (next_ == threads_.segments().size()) {
        finish();
      } else if (threads_.work_on(next_)) {
        take_segment(out);
      } else {
        let_reader_read(threads_.segments()[next_++].stream_end);
      }
    }
    return !out.empty();
  }

 private:
  /// Begins where the reader stands: records may have been skipped.
  void begin() {
    position_ = reader_.position();
    const auto& segments = threads_.segments();
    while (next_ < segments.size() && segments[next_].stream_end <= position_.offset) ++next_;
    if (is_gzip() && position_.record != 0) reads_until_ = Segment::kToEnd;
  }

  bool is_gzip() const { return reader_.compression() == Compression::gzip; }

  void take_segment(std::vector<Record>& out) {
    const Segment& segment = threads_.segments()[next_++];
    DecodedSegment decoded = threads_.take();
    if (position_.offset >= segment.stream_end) return;  // an earlier record reaches over it
    if (!decoded.is_good || decoded.begin != position_.offset) {
      // Behind damage in a gzip member there is no place where a thread could begin.
      let_reader_read(is_gzip() ? Segment::kToEnd : segment.stream_end);
      return;
    }
    for (Record& record : decoded.records) record.renumber(position_.record++);
    if (is_gzip()) {
      const std::uint64_t bytes = decoded.end - position_.offset;
      crc_ = static_cast<std::uint32_t>(
          ::crc32_combine(crc_, decoded.crc32, static_cast<z_off_t>(bytes)));
    }
    position_.offset = decoded.end;
    out.swap(decoded.records);
  }

  void let_reader_read(std::uint64_t until) {
    reads_until_ = until;
    reader_.continue_at(position_);
  }

  void read_on(std::vector<Record>& out) {
    constexpr std::size_t kBatch = 256;
    try {
      Record record;
      while (out.size() < kBatch && reader_.position().offset < *reads_until_) {
        if (!reader_.next(record)) {
          ended_ = true;
          return;
        }
        out.push_back(std::move(record));
      }
    } catch (...) {
      if (out.empty()) throw;
      error_ = std::current_exception();  // after the records before it
      return;
    }
    position_ = reader_.position();
    if (position_.offset >= *reads_until_) reads_until_.reset();
  }

  /// True if the file ended early. A thread that opened it later doesn't know how long it was.
  bool is_short() const {
    return reader_.compression() == Compression::none &&
           position_.offset < reader_.file_bytes().value_or(0);
  }

  void finish() {
    if (is_short()) {
      let_reader_read(Segment::kToEnd);  // the reader reports it
    } else if (is_gzip() && !gzip_tail_is_right(reader_.file(), threads_.segments().back().file_end,
                                                crc_, position_.offset)) {
      let_reader_read(Segment::kToEnd);
    } else {
      ended_ = true;
    }
  }

  SegmentThreads threads_;
  RecordReader& reader_;
  std::size_t next_ = 0;                      // segment to take next
  RecordPosition position_;                   // position of the next record
  std::optional<std::uint64_t> reads_until_;  // if set, the reader reads up to this offset
  std::uint32_t crc_ = 0;
  std::exception_ptr error_;
  bool has_begun_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<RecordSource> make_segmented_source(const ParallelRecordReaderOptions& options,
                                                    std::vector<Segment> segments,
                                                    RecordReader& reader) {
  return std::make_unique<SegmentedSource>(options, std::move(segments), reader);
}

}  // namespace infeed::detail
