#include <algorithm>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <zlib.h>

#include <infeed/detail/begin_thread.h>
#include <infeed/detail/hand_off.h>
#include <infeed/detail/start_threads.h>

#include "infeed/error.h"
#include "parallel/record_source.h"
#include "parallel/segment_decoder.h"

namespace infeed::detail {
namespace {

/// Threads that decode segments in their order, some way ahead of whoever takes them.
///
/// Invariants: hand_off_ guards all that follows it; threads_ are started and joined by who takes.
/// Thread i works while i is below active_, and is_there_[i] until it has made up its mind to end, from
/// when on it needs no lock. What is claimed is decoded and taken, whatever active_ becomes.
class SegmentThreads {
 public:
  SegmentThreads(const ParallelRecordReaderOptions& options, const RecordReader& reader,
                 std::vector<Segment> segments)
      : options_(options),
        file_(reader.file()),
        compression_(reader.compression()),
        segments_(std::move(segments)),
        is_there_(std::min<std::size_t>(options.threads, segments_.size())),
        threads_(is_there_.size()) {
    const std::uint64_t ahead = options.read_ahead_bytes / options.segment_bytes;
    slots_.resize(std::min<std::uint64_t>(std::max<std::uint64_t>(ahead, options.threads + 1),
                                          segments_.size()));
  }
  ~SegmentThreads() { hand_off_.stop(); }

  const std::vector<Segment>& segments() const { return segments_; }

  /// Sees to it that there are as many threads as there are to be now, from segment `next` on, which
  /// is taken next. False: there are to be none, and they have left nothing to be taken.
  bool work_on(std::size_t next) {
    const std::size_t wanted = threads_wanted();
    const auto lock = hand_off_.lock();
    if (active_ == 0 && claimed_ == taken_) claimed_ = taken_ = next;
    if (wanted != active_) has_room_.wake_all();
    active_ = wanted;
    start_missing();
    return active_ != 0 || claimed_ != taken_;
  }
  /// The next one, in order.
  DecodedSegment take() {
    auto lock = hand_off_.lock();
    auto& slot = slots_[taken_ % slots_.size()];
    if (!slot) {
      call_around(options_.around_waiting,
                  [&] { is_ready_.wait(lock, [&slot] { return slot.has_value(); }); });
    }
    DecodedSegment decoded = std::move(*slot);
    slot.reset();
    ++taken_;
    lock.unlock();
    has_room_.wake_one();
    return decoded;
  }

 private:
  std::size_t threads_wanted() const {
    if (options_.threads_now == nullptr) return is_there_.size();
    const std::size_t wanted = options_.threads_now->load(std::memory_order_relaxed);
    const std::size_t least = compression_ == Compression::none ? 0 : 1;
    return std::clamp(wanted, least, is_there_.size());
  }

  void start_missing() {
    for (std::size_t i = 0; i < active_ && claimed_ < segments_.size(); ++i) {
      if (is_there_[i]) continue;
      try {
        threads_[i] = start_thread<std::jthread>([this, i] { run(i); });  // the former has ended
        is_there_[i] = true;
      } catch (const Error&) {
        // Those beyond active_ end without taking more; what is claimed, they finish.
        const auto end = is_there_.begin() + static_cast<std::ptrdiff_t>(active_);
        if (claimed_ == taken_ && std::find(is_there_.begin(), end, true) == end) throw;
        return;
      }
    }
  }

  void run(std::size_t number) {
    begin_thread("reader", options_.on_thread_start);
    std::optional<SegmentDecoder> decoder;
    while (const auto claimed = claim(number)) {
      DecodedSegment decoded;
      call_around(options_.around_decoding, [&] {
        try {
          if (!decoder) decoder.emplace(file_, compression_, options_);
          decoded = decoder->decode(segments_[*claimed]);
        } catch (const std::exception&) {
          decoded.is_good = false;  // whoever takes it opens the file again, and tells
        }
      });
      bool is_awaited = false;
      {
        const auto lock = hand_off_.lock();
        slots_[*claimed % slots_.size()] = std::move(decoded);
        is_awaited = *claimed == taken_;
      }
      if (is_awaited) is_ready_.wake_one();
    }
  }

  std::optional<std::size_t> claim(std::size_t thread) {
    auto lock = hand_off_.lock();
    const auto is_over = [this, thread] {
      return claimed_ == segments_.size() || thread >= active_;
    };
    const bool goes_on =
        has_room_.wait(lock, [&] { return is_over() || claimed_ < taken_ + segments_ahead(); });
    if (goes_on && !is_over()) return claimed_++;
    is_there_[thread] = false;
    has_room_.wake_one();  // it may have been woken in another one's place
    return std::nullopt;
  }

  /// Of the read-ahead, the threads that work have their share.
  std::size_t segments_ahead() const {
    return std::max(active_ + 1, slots_.size() * active_ / is_there_.size());
  }

  const ParallelRecordReaderOptions options_;
  const std::string file_;
  const Compression compression_;
  const std::vector<Segment> segments_;
  HandOff hand_off_;
  WaitPoint has_room_{hand_off_};
  WaitPoint is_ready_{hand_off_};
  std::vector<std::optional<DecodedSegment>> slots_;  // segment i is in slot i % size
  std::size_t claimed_ = 0;
  std::size_t taken_ = 0;
  std::size_t active_ = 0;
  std::vector<bool> is_there_;
  std::vector<std::jthread> threads_;  // last: end before the rest goes
};

/// Takes a segment only when it begins exactly where the records before it ended; so whatever made
/// the segments (an index, a search, flush points) can't make it lose or invent a record. From any
/// other place the reader goes on, up to the next segment that fits; so it does where no thread is to
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
  /// Where the reader stands: somebody may have skipped.
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
    if (position_.offset >= segment.stream_end) return;  // a record before it reaches over it
    if (!decoded.is_good || decoded.begin != position_.offset) {
      // Behind damage in a gzip member there is nothing that a thread could begin with.
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

  /// A thread that opened the file later doesn't know how long it was.
  bool is_short() const {
    return reader_.compression() == Compression::none &&
           position_.offset < reader_.file_bytes().value_or(0);
  }

  void finish() {
    if (is_short()) {
      let_reader_read(Segment::kToEnd);  // which tells
    } else if (is_gzip() && !gzip_tail_is_right(reader_.file(), threads_.segments().back().file_end,
                                                crc_, position_.offset)) {
      let_reader_read(Segment::kToEnd);
    } else {
      ended_ = true;
    }
  }

  SegmentThreads threads_;
  RecordReader& reader_;
  std::size_t next_ = 0;                      // segment
  RecordPosition position_;                   // of the record that comes next
  std::optional<std::uint64_t> reads_until_;  // the reader reads, up to this offset
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
