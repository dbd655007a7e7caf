#include "sources/records/records_stage.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <optional>

#include <infeed/pipeline/detail/record_block_source.h>
#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"
#include "engine/recording/place_log.h"
#include "engine/work/passing_error.h"
#include "sources/dropped_counts.h"
#include "sources/records/record_file.h"
#include "sources/url_stop.h"

namespace infeed::detail {
namespace {

/// Bytes of blocks that lie ready for the next ones, where memory is limited: nobody counts them.
constexpr std::size_t kFreeBytesMax = std::size_t{4} << 20;

/// The same error, which says what is given up with the record that it stands for.
ErrorPointer with_loss(const Error& error, const Lost& lost, DamagePolicy damage) {
  const bool is_avoidable =
      error.code() == ErrorCode::data_loss && damage != DamagePolicy::skip_and_resynchronise;
  if (!is_avoidable || lost.records == 0U) {
    return std::make_shared<const Error>(Error(error).losing(lost));
  }
  Error changed = error.reworded(
      error.code(), fmt::format("{}; the rest of the file ({}) is dropped: {{.damage = "
                                "DamagePolicy::skip_and_resynchronise}} loses only what is damaged",
                                error.message(), lost.to_string()));
  return std::make_shared<const Error>(std::move(changed).losing(lost));
}

/// Notes where each of some records is, which begins with its frame.
void note_each(PlaceLog& places, std::uint64_t position, std::span<const Record> records,
               const std::string& file, std::uint64_t number) {
  for (const Record& record : records) {
    const std::optional<std::uint64_t> payload = record.offset();
    places.add_alone(position++, file, number++,
                     payload ? std::optional(*payload - RecordFrame::kBytesBefore) : std::nullopt);
  }
}

/// Returns true if records may be missing without an error.
bool may_lose_records(const RecordsOptions& options) {
  return options.damage != DamagePolicy::fail;
}

/// Returns true if passing over records without checking their bytes is the same as reading them: no
/// payload is damaged, or damaged ones are not looked at anyway.
bool skip_is_exact(const RecordsOptions& options, Known known) {
  if (options.verify == Verify::lengths) return true;
  return known == Known::no_errors && options.damage != DamagePolicy::skip_and_resynchronise;
}

/// The file that a pass is in, as far as it has seen it.
struct SeenOfFile {
  std::uint64_t given = 0;  ///< records so far
  std::uint64_t lost = 0;   ///< records lost to damage, if an index knows
  bool failed = false;      ///< something was an error
  bool unseen = false;      ///< some payloads were not checked
  std::optional<ManifestShard> listed = std::nullopt;        ///< a manifest's entry
  std::optional<RecordPosition> no_block_at = std::nullopt;  ///< a record that is to be pulled
};

class RecordsStage final : public Stage, private RecordBlockSource {
 public:
  RecordsStage(const StageContext& context, std::shared_ptr<RecordSources> sources)
      : Stage(context),
        sources_(std::move(sources)),
        options_(sources_->options),
        stop_(context, options_.url) {
    if (options_.on_damage || options_.damage == DamagePolicy::skip_and_resynchronise) {
      options_.on_damage = [this](const auto& range) { pass_over(range); };
    }
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (!at_end()) {
      try {
        open();
        if (read(out, want)) return Pull::values;
      } catch (...) {
        if (run().cancelled()) return Pull::cancelled;
        out.set_error(failed(stop_.error_in_flight()));
        return Pull::values;
      }
      ErrorPointer wrong_count = end_of_file();
      if (run().cancelled()) return Pull::cancelled;
      if (wrong_count == nullptr) continue;
      out.set_error(std::move(wrong_count));
      return Pull::values;
    }
    return Pull::end;
  }

  RecordBlockSource* record_blocks() override {
    if (at_end() || goes_on_at_) return nullptr;
    try {
      open_for_blocks();
    } catch (...) {  // pull() meets it, too, and says so
      return nullptr;
    }
    const bool can_be = reader_ && reader_->has_blocks() && !reader_->is_at_end();
    return can_be && reader_->position() != seen_.no_block_at ? this : nullptr;
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    std::uint64_t skipped = 0;
    while (skipped < count && !at_end() && !run().cancelled()) {
      if (const std::uint64_t whole = known_count(known); !reader_ && whole <= count - skipped) {
        skipped += whole;
        ++file_;
      } else if (skip_is_exact(options_, known)) {
        skipped += skip_in_file(count - skipped, known);
      } else {
        skipped += read_and_drop(count - skipped, known);
      }
    }
    return skipped;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return traced_.find(position); }

 private:
  static constexpr std::size_t kNoFile = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kPlacesMin = 16;
  // A watchdog looks whether a long resume moves, and a cancellation ends it: both between two of
  // these.
  static constexpr std::uint64_t kSkippedAtOnce = std::uint64_t{1} << 16;

  bool at_end() const { return file_ == sources_->files.size(); }

  void open() {
    if (reader_) return;
    if (const auto place = std::exchange(goes_on_at_, std::nullopt)) {
      reader_.emplace(sources_->files[file_], options_, sources_->mapped_files, run());
      reader_->continue_at(*place);
      return;
    }
    begin_file();
    reader_.emplace(sources_->files[file_], options_, sources_->mapped_files, run(), &ahead_);
  }

  void begin_file() {
    seen_ = {};
    seen_.listed = sources_->listed.of(file_, sources_->files[file_], run());
  }

  /// Opens the next file if it has blocks, and leaves it to open() if not.
  void open_for_blocks() {
    if (reader_ || file_ == without_blocks_) return;
    if (RecordFile::may_have_blocks(sources_->files[file_])) {
      begin_file();
      reader_.emplace(sources_->files[file_], options_, sources_->mapped_files, run());
      if (reader_->has_blocks()) return;
      reader_.reset();
    }
    without_blocks_ = file_;
  }

  // ---- RecordBlockSource ----

  bool claim(RecordBlock& block) override {
    try {
      if (in_blocks_.empty()) begin_blocks(file_, *reader_);
    } catch (...) {  // it can't be opened once more, say for want of descriptors; pull() reads on
      seen_.no_block_at = reader_->position();
      return false;
    }
    while (!in_blocks_.back().file->claim(block)) {
      const std::size_t next = in_blocks_.back().index + 1;
      if (next == sources_->files.size()) return false;
      if (!RecordFile::may_have_blocks(sources_->files[next])) return false;
      try {
        const RecordFile file(sources_->files[next], options_, sources_->mapped_files, run());
        if (!file.has_blocks() || file.is_at_end()) return false;
        begin_blocks(next, file);
      } catch (...) {  // pull() meets it, too, and says so
        return false;
      }
    }
    return true;
  }

  void begin_blocks(std::size_t index, const RecordFile& opened) {
    std::optional<std::uint64_t> records;
    const auto listed = sources_->listed.of(index, sources_->files[index], run());
    if (listed && !may_lose_records(options_)) records = listed->examples;
    const RecordPosition begin = opened.position();
    auto file = open_block_file(
        sources_->files[index], begin,
        {.compression = opened.compression(),
         .block_bytes = options_.block_bytes,
         .record_bytes_max = options_.record_bytes_max,
         .verifies_payloads = options_.verify == Verify::everything,
         .ignores_trailing_bytes = options_.damage == DamagePolicy::stop_like_tensorflow,
         .records = records,
         .spare_blocks = run().readers().spare_blocks(sources_->files[index]),
         .free_bytes_max = run().memory().limit_bytes() == 0 ? SIZE_MAX : kFreeBytesMax,
         .mapped_files = sources_->mapped_files});
    in_blocks_.push_back({index, std::move(file), begin});
  }

  void note(const Taken& taken) override {
    for (auto* const time : {&counters().work_time, &counters().pull_time}) {
      StageCounters::add(time->ticks, taken.ticks);
      time->add_sample(taken.sampled_ticks, taken.sampled_cpu_ns);
    }
    StageCounters::add(counters().sampled.elements, taken.records);
    StageCounters::add(counters().sampled.bytes, taken.bytes);
  }

  void note_given(std::uint64_t records) override {
    StageCounters::add(counters().elements, records);
  }

  void note_slow_read(const RecordBlock& block, const SlowRead& read) override {
    TracedPlace traced = TracedPlace::unknown("no record begins in what was read");
    if (block.size() != 0) {
      const RecordPosition first = block.position(0);
      traced = {RecordPlace{block.file().file_name(), first.record, block.size(), first.offset},
                {}};
    }
    run().recorder()->note_slow(counters(), {read.begin_ticks, read.ticks},
                                {epoch(), 0, block.size()}, std::move(traced));
  }

  void leave(const std::optional<Place>& place) override {
    for (const FileInBlocks& read : in_blocks_) {
      if (&read != &in_blocks_.front()) begin_file();
      reader_.reset();
      if (place && place->file == read.file.get()) {
        seen_.given += place->position.record - read.begin.record;
        goes_on_at_ = seen_.no_block_at = place->position;
        break;
      }
      seen_.given += read.file->next().record - read.begin.record;
      end_of_file();
    }
    in_blocks_.clear();
  }

  /// Gives an error when the file had another number of records than it should have.
  ErrorPointer end_of_file() {
    ErrorPointer wrong_count = seen_.failed ? nullptr : check_count();
    FileCount& count = sources_->counts[file_];
    if (!seen_.failed) (seen_.unseen ? count.skipped : count.read) = seen_.given;
    reader_.reset();
    ++file_;
    return wrong_count;
  }

  ErrorPointer check_count() {
    if (!seen_.listed || seen_.listed->examples == seen_.given) return nullptr;
    if (may_lose_records(options_)) {
      // Those that a range of damage had were counted with it, where an index knew them.
      if (seen_.listed->examples > seen_.given + seen_.lost) {
        count_dropped(seen_.listed->examples - seen_.given - seen_.lost, {});
      }
      return nullptr;
    }
    seen_.failed = true;
    const Error error =
        wrong_count(sources_->files[file_], *seen_.listed, seen_.given, reader_->file_bytes());
    if (error.lost()) count_dropped(error.lost()->records, {});
    return std::make_shared<const Error>(error);
  }

  /// The error as it is handed on: with what goes with the file.
  ErrorPointer failed(ErrorPointer error) {
    seen_.failed = true;
    // An exception of the user's own callback is no reason to give up the file.
    if (reader_ && std::exchange(callback_threw_, false)) return error;
    const Lost lost = rest_of_file(*error);
    count_dropped(lost.records, lost.bytes);
    end_of_file();
    return with_loss(*error, lost, options_.damage);
  }

  Lost rest_of_file(const Error& error) const {
    if (!reader_) return {};
    if (!error.offset() || !error.record()) return {};
    return reader_->rest({*error.record(), *error.offset()});
  }

  void count_dropped(std::optional<std::uint64_t> records, std::optional<std::uint64_t> bytes) {
    note_count(kDroppedRecords, records.value_or(0));
    note_count(kDroppedBytes, bytes.value_or(0));
  }

  /// False at the end of the file.
  bool read(Chunk& out, std::size_t want) {
    auto* const records = static_cast<Record*>(out.back());
    want = std::min(want, places_);
    std::uninitialized_default_construct_n(records, want);
    std::size_t count = 0;
    try {
      count = reader_->read({records, want});
    } catch (...) {
      std::destroy_n(records, want);
      throw;
    }
    std::destroy_n(records + count, want - count);
    places_ = std::max(kPlacesMin, 2 * count);
    out.grow(count);
    if (count > 0 && run().keeps_places()) {
      const std::uint64_t begin = position() + out.slots() - count;
      if (run().traces()) {
        note_each(traced_, begin, {records, count}, sources_->files[file_], seen_.given);
      } else {
        traced_.add(begin, count, sources_->files[file_], seen_.given);
      }
    }
    seen_.given += count;
    return count > 0;
  }

  std::uint64_t known_count(Known known) const {
    const FileCount& count = sources_->counts[file_];
    const std::uint64_t read = count.read;
    return read == kNotCounted && skip_is_exact(options_, known) ? count.skipped.load() : read;
  }

  std::uint64_t skip_in_file(std::uint64_t count, Known known) {
    std::uint64_t before = 0;
    try {
      open();
      before = reader_->passed();
      seen_.unseen = seen_.unseen || options_.verify != Verify::lengths;
      const std::uint64_t want = std::min(count, kSkippedAtOnce);
      const std::uint64_t skipped = reader_->skip(want);
      seen_.given += skipped;
      StageCounters::add(counters().skipped, skipped);
      if (skipped == want || end_of_file() == nullptr) return skipped;
      counters().note_skipped_error();
      return skipped + 1;
    } catch (...) {
      if (run().cancelled()) return 0;
      ErrorPointer error = stop_.error_in_flight();
      end_if_passing(*error, known);
      counters().note_skipped_error();  // those before it were passed over
      const std::uint64_t passed = reader_ ? reader_->passed() - before : 0;
      failed(std::move(error));
      return passed + 1;
    }
  }

  std::uint64_t read_and_drop(std::uint64_t count, Known known) {
    Chunk dropped(type());
    const std::uint64_t want = std::min<std::uint64_t>(count, dropped.capacity());
    if (pull(dropped, static_cast<std::size_t>(want)) != Pull::values) return 0;
    return drop_slots(dropped, dropped.slots(), known);
  }

  void pass_over(const DamagedRange& range) {
    const std::optional<std::uint64_t> records = reader_->records_of(range);
    seen_.lost += records.value_or(0);
    count_dropped(records, range.end - range.begin);
    if (!sources_->options.on_damage) return;
    callback_threw_ = true;
    sources_->options.on_damage(range);
    callback_threw_ = false;
  }

  const std::shared_ptr<RecordSources> sources_;
  RecordsOptions options_;
  std::size_t file_ = 0;
  ReaderThreads ahead_{run(), counters()};
  std::optional<RecordFile> reader_;  ///< reads file_, once it is begun
  SeenOfFile seen_;                   ///< all that it has seen of file_
  /// Made ready for one read. A block holds few large records, and a whole chunk of places for two
  /// records costs as much as an eighth of their reading.
  std::size_t places_ = kPlacesMin;
  bool callback_threw_ = false;
  /// A file that is read in blocks. They are kept in the order of files.
  struct FileInBlocks {
    std::size_t index;
    std::shared_ptr<BlockFile> file;
    RecordPosition begin;
  };
  std::deque<FileInBlocks> in_blocks_;
  PlaceLog traced_;                           ///< in an iterator that records
  std::size_t without_blocks_ = kNoFile;      ///< a file that has none
  std::optional<RecordPosition> goes_on_at_;  ///< in file_, which is to be opened again
  const UrlStop stop_;                        ///< last: goes before the rest
};

}  // namespace

std::unique_ptr<Stage> make_records_stage(const StageContext& context,
                                          std::shared_ptr<RecordSources> sources) {
  return std::make_unique<RecordsStage>(context, std::move(sources));
}

}  // namespace infeed::detail
