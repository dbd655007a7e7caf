#include "infeed/records/parallel_record_reader.h"

#include <algorithm>
#include <array>
#include <stop_token>
#include <thread>
#include <utility>

#include "infeed/records/files.h"
#include "infeed/records/lost_records.h"
#include "parallel/record_source.h"

namespace infeed {

class ParallelRecordReader::State {
 public:
  State(std::string file, ParallelRecordReaderOptions options)
      : options_(checked(std::move(options))),
        reader_(std::move(file), with_own_callbacks(options_.reader)) {
    std::optional<std::vector<detail::Segment>> blocks = plan();
    const auto note = [this](const DamagedRange& range) { this->note(range); };
    if (blocks) {
      damage_from_reader_ = note;
      source_ = detail::make_block_source(options_, reader_, std::move(*blocks));
    } else {
      auto [source, from_reader] = detail::make_read_ahead_source(options_, reader_, note);
      source_ = std::move(source);
      damage_from_reader_ = std::move(from_reader);
    }
  }

  ~State() { stop_.request_stop(); }

  std::size_t read(std::span<Record> out) {
    if (out.empty()) return 0;
    if (!has_begun_) has_begun_ = true;  // written before a thread may read it, and not again
    const std::size_t count = source_->read(out);
    passed_ += count;
    return count;
  }

  std::uint64_t skip(std::uint64_t count) {
    const std::uint64_t before = passed_;
    if (!has_begun_) {  // no thread uses the reader yet
      try {
        passed_ += reader_.skip(count);
      } catch (...) {
        passed_ = reader_.position().record - records_numbered_as_lost(reader_.damaged());
        throw;
      }
      return passed_ - before;
    }
    std::array<Record, 256> dropped;
    while (passed_ - before < count) {
      const auto want = std::min<std::uint64_t>(count - (passed_ - before), dropped.size());
      if (read(std::span(dropped).first(static_cast<std::size_t>(want))) == 0) break;
    }
    return passed_ - before;
  }

  std::uint64_t records_passed() const { return passed_; }

  const std::string& file() const { return reader_.file(); }
  Compression compression() const { return reader_.compression(); }
  std::optional<std::uint64_t> file_bytes() const { return reader_.file_bytes(); }
  const std::vector<DamagedRange>& damaged() const { return damaged_; }
  const std::string& how() const { return how_; }

 private:
  void note(const DamagedRange& range) {
    damaged_.push_back(range);
    if (options_.reader.on_damage) options_.reader.on_damage(range);
  }

  /// Returns the segments of a compressed file (none for a plain one), or nothing if one thread
  /// decodes ahead. Sets how_.
  std::optional<std::vector<detail::Segment>> plan() {
    if (!reader_.file_bytes()) {
      how_ = "one thread decodes ahead: a pipe can't be split";
      return std::nullopt;
    }
    if (is_url(reader_.file())) {
      how_ = "one thread decodes ahead; the ranges of the URL are fetched at once";
      return std::nullopt;
    }
    if (reader_.compression() == Compression::none) {
      how_ = "read in blocks";
      return std::vector<detail::Segment>();
    }
    detail::SegmentPlan plan =
        detail::plan_segments(reader_.file(), reader_.compression(), options_.segment_bytes);
    how_ = std::move(plan.reason);
    if (plan.segments.empty()) return std::nullopt;
    return std::move(plan.segments);
  }
  static ParallelRecordReaderOptions checked(ParallelRecordReaderOptions options) {
    constexpr std::uint64_t kSegmentBytesMin = 64;
    constexpr std::size_t kBlockBytesMin = 64;
    if (options.threads == 0) options.threads = std::max(1U, std::thread::hardware_concurrency());
    options.segment_bytes = std::max(options.segment_bytes, kSegmentBytesMin);
    options.reader.block_bytes = std::max(options.reader.block_bytes, kBlockBytesMin);
    if (options.read_ahead_bytes == 0) {
      options.read_ahead_bytes = 2 * options.threads * options.segment_bytes;
    }
    options.segment_bytes =
        std::min<std::uint64_t>(options.segment_bytes, options.reader.block_bytes);
    return options;
  }
  RecordReaderOptions with_own_callbacks(RecordReaderOptions options) {
    // A thread that waits for a server or a pipe must not keep the destructor waiting.
    options.url.stop = stop_.get_token();
    options.on_damage = [this](const DamagedRange& range) {
      has_begun_ ? damage_from_reader_(range) : note(range);
    };
    return options;
  }

  const ParallelRecordReaderOptions options_;
  std::string how_;
  std::vector<DamagedRange> damaged_;
  detail::DamageSink damage_from_reader_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> users_stop_{options_.reader.url.stop,
                                                        [this] { stop_.request_stop(); }};
  RecordReader reader_;
  std::uint64_t passed_ = 0;
  bool has_begun_ = false;                        // threads may now use the reader
  std::unique_ptr<detail::RecordSource> source_;  // last: its threads use the reader
};

ParallelRecordReader::ParallelRecordReader(std::string file, ParallelRecordReaderOptions options)
    : state_(std::make_unique<State>(std::move(file), std::move(options))) {}
ParallelRecordReader::ParallelRecordReader(ParallelRecordReader&&) noexcept = default;
ParallelRecordReader& ParallelRecordReader::operator=(ParallelRecordReader&&) noexcept = default;
ParallelRecordReader::~ParallelRecordReader() = default;

std::size_t ParallelRecordReader::read(std::span<Record> out) { return state_->read(out); }
bool ParallelRecordReader::next(Record& out) { return state_->read({&out, 1}) == 1; }
std::uint64_t ParallelRecordReader::skip(std::uint64_t count) { return state_->skip(count); }
std::uint64_t ParallelRecordReader::records_passed() const { return state_->records_passed(); }
const std::string& ParallelRecordReader::file() const { return state_->file(); }
Compression ParallelRecordReader::compression() const { return state_->compression(); }
std::optional<std::uint64_t> ParallelRecordReader::file_bytes() const {
  return state_->file_bytes();
}
const std::vector<DamagedRange>& ParallelRecordReader::damaged() const { return state_->damaged(); }
const std::string& ParallelRecordReader::how() const { return state_->how(); }

}  // namespace infeed
