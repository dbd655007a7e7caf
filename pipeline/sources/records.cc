#include "infeed/pipeline/records.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <stop_token>

#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/pipeline/files.h>
#include <infeed/pipeline/options.h>
#include <infeed/records/files.h>

#include "engine/iterator_context.h"
#include "sources/listed_counts.h"
#include "sources/record_file.h"

namespace infeed {
namespace {

constexpr std::uint64_t kNotCounted = std::numeric_limits<std::uint64_t>::max();

/// Elements of a file, once somebody has gone through it without an error.
struct FileCount {
  std::atomic<std::uint64_t> read{kNotCounted};
  /// Payloads were passed over unseen: right as long as none of them is damaged.
  std::atomic<std::uint64_t> skipped{kNotCounted};
};

/// What all iterators of one source share.
struct Sources {
  Sources(std::vector<std::string> list, RecordsOptions reader_options)
      : files(std::move(list)),
        options(std::move(reader_options)),
        listed(options.manifest == ManifestUse::check ? detail::ListedCounts(files)
                                                      : detail::ListedCounts()),
        counts(files.size()) {}

  const std::vector<std::string> files;
  const RecordsOptions options;
  const detail::ListedCounts listed;
  std::vector<FileCount> counts;
};

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

class RecordsStage final : public Stage {
 public:
  RecordsStage(const StageContext& context, std::shared_ptr<Sources> sources)
      : Stage(context), sources_(std::move(sources)), options_(sources_->options) {
    if (options_.on_damage || options_.damage == DamagePolicy::skip_and_resynchronise) {
      options_.on_damage = [this](const auto& range) { pass_over(range); };
    }
    if (std::none_of(sources_->files.begin(), sources_->files.end(), &is_url)) return;
    // A file is read at once, but an answer of a server may take long to come.
    stop_ = std::stop_source();
    options_.url.stop = stop_.get_token();
    end_waiting_.emplace(run(), [this] { stop_.request_stop(); });
    if (sources_->options.url.stop.stop_possible()) {
      users_stop_.emplace(sources_->options.url.stop, [this] { stop_.request_stop(); });
    }
  }

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (!at_end()) {
      try {
        open();
        if (read(out, want)) return Pull::values;
      } catch (const std::bad_alloc&) {
        throw;  // terminal
      } catch (...) {
        if (run().cancelled()) return Pull::cancelled;
        throw_on_users_stop();
        out.set_error(failed(current_error()));
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

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    std::uint64_t skipped = 0;
    while (skipped < count && !at_end() && !run().cancelled()) {
      if (const std::uint64_t whole = known_count(known); !reader_ && whole <= count - skipped) {
        skipped += whole;
        ++file_;
      } else if (skip_is_exact(known)) {
        skipped += skip_in_file(count - skipped);
      } else {
        skipped += read_and_drop(count - skipped);
      }
    }
    return skipped;
  }

 private:
  static constexpr std::size_t kPlacesMin = 16;
  // A watchdog looks whether a long resume moves, and a cancellation ends it: both between two of
  // these.
  static constexpr std::uint64_t kSkippedAtOnce = std::uint64_t{1} << 16;

  /// Throws the exception in flight on when it is no record's fault: the user's own token made the
  /// reader give up.
  void throw_on_users_stop() const {
    if (!sources_->options.url.stop.stop_requested()) return;
    if (detail::terminal_error()->code() == ErrorCode::cancelled) throw;
  }

  bool at_end() const { return file_ == sources_->files.size(); }

  void open() {
    if (reader_) return;
    given_ = 0;
    lost_ = 0;
    failed_ = false;
    unseen_ = false;
    listed_ = sources_->listed.of(file_, sources_->files[file_], run());
    reader_.emplace(sources_->files[file_], options_, run());
    counters().note_parallelism(reader_->threads(), options_.parallelism == autotune);
  }

  /// Gives an error when the file had another number of records than it should have.
  ErrorPointer end_of_file() {
    ErrorPointer wrong_count = failed_ ? nullptr : check_count();
    FileCount& count = sources_->counts[file_];
    if (!failed_) (unseen_ ? count.skipped : count.read) = given_;
    reader_.reset();
    ++file_;
    return wrong_count;
  }

  ErrorPointer check_count() {
    if (!listed_ || listed_->examples == given_) return nullptr;
    if (may_lose_records()) {
      // Those that a range of damage had were counted with it, where an index knew them.
      if (listed_->examples > given_ + lost_) {
        count_dropped(listed_->examples - given_ - lost_, {});
      }
      return nullptr;
    }
    failed_ = true;
    const Error error =
        detail::wrong_count(sources_->files[file_], *listed_, given_, reader_->file_bytes());
    if (error.lost()) count_dropped(error.lost()->records, {});
    return std::make_shared<const Error>(error);
  }

  /// Without an error.
  bool may_lose_records() const { return options_.damage != DamagePolicy::fail; }

  /// The error as it is handed on: with what goes with the file.
  ErrorPointer failed(ErrorPointer error) {
    failed_ = true;
    // What the user's own callback throws is no reason to give up the file.
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
    detail::StageCounters::add(counters().dropped_records, records.value_or(0));
    detail::StageCounters::add(counters().dropped_bytes, bytes.value_or(0));
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
    given_ += count;
    return count > 0;
  }

  /// To pass over records without checking their bytes is the same as reading them only when no
  /// payload is damaged, or damaged ones are not looked at anyway.
  bool skip_is_exact(Known known) const {
    if (options_.verify == Verify::lengths) return true;
    return known == Known::no_errors && options_.damage != DamagePolicy::skip_and_resynchronise;
  }

  std::uint64_t known_count(Known known) const {
    const FileCount& count = sources_->counts[file_];
    const std::uint64_t read = count.read;
    return read == kNotCounted && skip_is_exact(known) ? count.skipped.load() : read;
  }

  std::uint64_t skip_in_file(std::uint64_t count) {
    std::uint64_t before = 0;
    try {
      open();
      before = reader_->passed();
      unseen_ = unseen_ || options_.verify != Verify::lengths;
      const std::uint64_t want = std::min(count, kSkippedAtOnce);
      const std::uint64_t skipped = reader_->skip(want);
      given_ += skipped;
      detail::StageCounters::add(counters().skipped, skipped);
      if (skipped == want || end_of_file() == nullptr) return skipped;
      count_skipped_error();
      return skipped + 1;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (...) {
      if (run().cancelled()) return 0;
      throw_on_users_stop();
      count_skipped_error();  // those before it were passed over
      const std::uint64_t passed = reader_ ? reader_->passed() - before : 0;
      failed(current_error());
      return passed + 1;
    }
  }

  /// The error is an element, too.
  void count_skipped_error() {
    detail::StageCounters::add(counters().errors, 1);
    detail::StageCounters::add(counters().errors_arisen, 1);
  }

  std::uint64_t read_and_drop(std::uint64_t count) {
    Chunk dropped(type());
    const std::uint64_t want = std::min<std::uint64_t>(count, dropped.capacity());
    if (pull(dropped, static_cast<std::size_t>(want)) != Pull::values) return 0;
    return dropped.slots();
  }

  void pass_over(const DamagedRange& range) {
    const std::optional<std::uint64_t> records = reader_->records_of(range);
    lost_ += records.value_or(0);
    count_dropped(records, range.end - range.begin);
    if (!sources_->options.on_damage) return;
    callback_threw_ = true;
    sources_->options.on_damage(range);
    callback_threw_ = false;
  }

  const std::shared_ptr<Sources> sources_;
  RecordsOptions options_;
  std::size_t file_ = 0;
  std::optional<detail::RecordFile> reader_;  ///< of file_, once it is begun
  std::optional<ManifestShard> listed_;       ///< what a manifest says of file_
  std::uint64_t given_ = 0;                   ///< records of file_ so far
  std::uint64_t lost_ = 0;                    ///< of it to damage, where an index knows
  /// Made ready for one read. A block holds few large records, and a whole chunk of places for two
  /// records costs as much as an eighth of their reading.
  std::size_t places_ = kPlacesMin;
  bool failed_ = false;  ///< something in file_ was an error
  bool unseen_ = false;  ///< some payloads of file_ were not checked
  bool callback_threw_ = false;
  // With URLs only: whatever ends the run, or the user's own token, ends a reader's waiting.
  std::stop_source stop_{std::nostopstate};
  std::optional<std::stop_callback<std::function<void()>>> users_stop_;
  std::optional<CancellationWaker> end_waiting_;  ///< last: goes before the rest
};

class RecordsNode final : public Node {
 public:
  RecordsNode(std::vector<std::string> files, RecordsOptions options)
      : Node("records", type_info<Record>()),
        fingerprint_(detail::files_fingerprint(files)),
        sources_(std::make_shared<Sources>(std::move(files), std::move(options))) {}

  std::string signature() const override {
    const RecordsOptions& options = sources_->options;
    std::string text = fmt::format("records({}", fingerprint_);
    if (options.verify == Verify::lengths) text += ", verify=lengths";
    if (options.damage == DamagePolicy::skip_and_resynchronise) {
      text += ", damage=skip_and_resynchronise";
    }
    if (options.damage == DamagePolicy::stop_like_tensorflow) {
      text += ", damage=stop_like_tensorflow";
    }
    return text + ")";
  }
  Cardinality cardinality() const override {
    if (sources_->files.empty()) return Cardinality::finite(0);
    const bool may_lose_records = sources_->options.damage != DamagePolicy::fail;
    return may_lose_records ? Cardinality::unknown() : sources_->listed.sum();
  }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<RecordsStage>(context, sources_);
  }

 private:
  const std::string fingerprint_;
  const std::shared_ptr<Sources> sources_;
};

}  // namespace

Dataset<Record> records(std::vector<std::string> files, RecordsOptions options) {
  options.parallelism = detail::checked_parallelism("records", options.parallelism);
  options.block_bytes.of("records", "block_bytes");
  options.record_bytes_max.of("records", "record_bytes_max");
  options.read_ahead_bytes.of("records", "read_ahead_bytes");
  return Dataset<Record>(
      detail::named(std::make_shared<RecordsNode>(std::move(files), options), options.name));
}

Dataset<Record> records(std::initializer_list<std::string> files, RecordsOptions options) {
  return records(std::vector(files), std::move(options));
}

Dataset<Record> records(const std::string& pattern, RecordsOptions options) {
  return records(detail::find_files(pattern), std::move(options));
}

}  // namespace infeed
