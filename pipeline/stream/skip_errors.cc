#include "infeed/pipeline/skip_errors.h"

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <unordered_set>
#include <utility>

#include <infeed/pipeline/errors_in_flight.h>
#include <infeed/records/file.h>

#include "engine/iterator_context.h"
#include "engine/recording/note_calls.h"
#include "engine/recording/place_log.h"
#include "engine/recording/recorded_lines.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {
namespace {

/// Returns the error as JSON, without the position and the closing brace.
std::string json_of(const Error& error) {
  std::string line = fmt::format("{{\"code\": {}, \"message\": {}",
                                 json_text(to_string(error.code())), json_text(error.message()));
  if (!error.stage().empty()) line += fmt::format(", \"stage\": {}", json_text(error.stage()));
  if (!error.file().empty()) line += fmt::format(", \"file\": {}", json_text(error.file()));
  if (error.offset()) line += fmt::format(", \"offset\": {}", *error.offset());
  if (error.record()) line += fmt::format(", \"record\": {}", *error.record());
  if (error.lost() && error.lost()->records) {
    line += fmt::format(", \"lost_records\": {}", *error.lost()->records);
  }
  if (error.lost() && error.lost()->bytes) {
    line += fmt::format(", \"lost_bytes\": {}", *error.lost()->bytes);
  }
  return line;
}

/// The file that errors are written to, shared by all iterators.
///
/// Invariants: mutex_ guards written_. Each line is one write in append mode, so several processes
/// may use the same file.
class Quarantine {
 public:
  explicit Quarantine(std::string file) : file_(std::move(file)) {}

  /// Throws if the file can't be written.
  void add(const Error& error, std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    const std::string what = json_of(error);
    const std::string line = fmt::format("{}, \"position\": {}}}\n", what, position);
    // After a shuffle the same record has another position in each pass.
    const std::string& identity = error.record() ? what : line;
    if (!written_.insert(std::hash<std::string>()(identity)).second) return;
    try {
      File::open(file_, O_WRONLY | O_CREAT | O_APPEND).write(line);
    } catch (const Error& failure) {
      throw Error(failure.code(), "the quarantine of skip_errors: " + failure.message())
          .at_file(file_);
    }
  }

 private:
  const std::string file_;
  std::mutex mutex_;
  std::unordered_set<std::size_t> written_;  ///< hashes of what was written
};

class SkipErrorsStage final : public Stage, public Bookmarked {
 public:
  SkipErrorsStage(const StageContext& context, const SkipErrorsOptions& options,
                  std::shared_ptr<Quarantine> quarantine, std::unique_ptr<Stage> input)
      : Stage(context),
        Bookmarked(context),
        options_(options),
        quarantine_(std::move(quarantine)),
        input_(std::move(input)),
        is_inner_(context.inner.outermost != nullptr) {}

  Pull do_pull(Chunk& out, std::size_t want) override {
    while (true) {
      if (every() != 0) {
        if (seen_ % every() == 0 && position() > 0)
          note_bookmark(position(), {seen_}, {errors_, lost_});
        want = static_cast<std::size_t>(std::min<std::uint64_t>(want, every() - seen_ % every()));
      }
      const Pull pulled = input_->pull(out, want);
      if (pulled == Pull::end) judge_pass();
      if (pulled != Pull::values) return pulled;
      const std::uint64_t first = std::exchange(seen_, seen_ + out.slots());
      if (run().keeps_places()) kept_.add(position(), out.size(), {first, out.size()});
      if (out.has_error()) leave_out(out);
      if (!out.empty()) return Pull::values;
    }
  }

 protected:
  std::uint64_t do_skip(std::uint64_t count, Known known) override {
    if (known != Known::no_errors) return Stage::do_skip(count, known);
    const std::uint64_t skipped = input_->skip(count, known);
    seen_ += skipped;
    return skipped;
  }

  /// The state: errors, and records lost with them.
  bool go_to(const Bookmark& bookmark, Known known) override {
    if (bookmark.inputs.size() != 1 || bookmark.state.size() != 2) throw bad_bookmark();
    if (bookmark.inputs[0] < seen_) return false;
    if (!pass_over(*input_, bookmark.inputs[0] - seen_, known)) return false;
    seen_ = bookmark.inputs[0];
    errors_ = bookmark.state[0];
    lost_ = bookmark.state[1];
    return true;
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    return traced_through(kept_, position, *input_);
  }

 private:
  /// Takes the error out of the chunk. Throws an Error that ends the run.
  void leave_out(Chunk& out) {
    last_ = out.take_error();
    ++errors_;
    if (is_passing(*last_)) run().counters().note_passing_left_out(counters());
    if (last_->lost()) lost_ += last_->lost()->records.value_or(0);
    if (over_budget()) throw budget_error();
    if (errors_ == kOnlyErrorsMax && errors_ == seen_) throw only_errors("");
    if (quarantine_ != nullptr) quarantine_->add(*last_, seen_ - 1);
    if (!options_.on_error) return;
    try {
      options_.on_error(*last_, seen_ - 1);
    } catch (...) {
      throw Error(*current_error());
    }
  }

  /// Judges the pass when the input is over.
  void judge_pass() const {
    if (share_is_exceeded()) throw budget_error();
    // One of many inner datasets may have a single element, or a single missing file.
    const std::uint64_t least = is_inner_ ? kOnlyErrorsOfInner : 1;
    if (errors_ == seen_ && errors_ >= least) throw only_errors(", and nothing is left");
  }

  bool over_budget() const {
    return (options_.count_max && failed() > *options_.count_max) ||
           (elements() >= options_.share_after && share_is_exceeded());
  }
  bool share_is_exceeded() const {
    return static_cast<double>(failed()) > options_.share_max * static_cast<double>(elements());
  }
  /// One damaged record may cost the rest of its shard: all lost records count.
  std::uint64_t failed() const { return errors_ + lost_; }
  std::uint64_t elements() const { return seen_ + lost_; }

  Error budget_error() const {
    std::string budget;
    if (options_.count_max) budget = fmt::format("count_max {}", options_.count_max->value());
    if (options_.share_max < 1.0) {
      budget += fmt::format("{}share_max {}", budget.empty() ? "" : ", ", options_.share_max);
    }
    return because_of_last(fmt::format("{} of {} elements failed, more than is allowed ({})",
                                       failed(), elements(), budget));
  }

  Error only_errors(std::string_view consequence) const {
    return because_of_last(
        fmt::format("all of the first {} elements failed{}", errors_, consequence));
  }

  Error because_of_last(const std::string& what) const {
    Error error = last_ == nullptr  // it was before the bookmark that the run went on from
                      ? Error(ErrorCode::resource_exhausted, fmt::format("skip_errors: {}", what))
                      : last_->reworded(ErrorCode::resource_exhausted,
                                        fmt::format("skip_errors: {}; the last one: {}: {}", what,
                                                    to_string(last_->code()), last_->message()));
    error.at_stage(counters().path());
    return error;
  }

  // An endless input that only fails would otherwise never return.
  static constexpr std::uint64_t kOnlyErrorsMax = 100'000;
  static constexpr std::uint64_t kOnlyErrorsOfInner = 100;

  const SkipErrorsOptions& options_;
  const std::shared_ptr<Quarantine> quarantine_;
  const std::unique_ptr<Stage> input_;
  const bool is_inner_;
  std::uint64_t seen_ = 0;  ///< elements of the input, errors included
  std::uint64_t errors_ = 0;
  std::uint64_t lost_ = 0;  ///< records lost with the errors
  ErrorPointer last_;
  PositionLog kept_;  ///< only if the iterator records
};

class SkipErrorsNode final : public Node {
 public:
  SkipErrorsNode(SkipErrorsOptions options, NodePointer input)
      : Node("skip_errors", input->type(), {input}),
        options_(std::move(options)),
        quarantine_(options_.quarantine_file.empty()
                        ? nullptr
                        : std::make_shared<Quarantine>(options_.quarantine_file)) {}

  std::string signature() const override {
    return fmt::format("skip_errors(count_max={}, share_max={}, share_after={})",
                       options_.count_max ? std::to_string(options_.count_max->value()) : "any",
                       options_.share_max, options_.share_after.value());
  }
  StageTraits traits() const override { return {.begins = Begins::at_bookmarks}; }
  /// The number of failures isn't known beforehand.
  Cardinality cardinality() const override {
    const Cardinality length = input().cardinality();
    return length.is_infinite() || length == Cardinality::finite(0) ? length
                                                                    : Cardinality::unknown();
  }
  bool needs_bookmark(Known known) const override { return known != Known::no_errors; }
  StreamPlace input_resumed(std::size_t input, const ResumedStage& stage) const override {
    return stage.known == Known::no_errors ? stage.place : Node::input_resumed(input, stage);
  }
  std::uint64_t element_bytes_min() const override { return input().element_bytes_min(); }

 protected:
  std::unique_ptr<Stage> make_stage(const StageContext& context) const override {
    return std::make_unique<SkipErrorsStage>(context, options_, quarantine_, input().open(context));
  }

 private:
  const SkipErrorsOptions options_;
  const std::shared_ptr<Quarantine> quarantine_;
};

}  // namespace

NodePointer make_skip_errors(SkipErrorsOptions options, NodePointer input) {
  if (!(options.share_max >= 0 && options.share_max <= 1)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("skip_errors: share_max is {}; give a share of all elements, 0 to 1",
                            options.share_max));
  }
  if (options.count_max) options.count_max->of("skip_errors", "count_max");
  options.share_after.of("skip_errors", "share_after");
  return std::make_shared<SkipErrorsNode>(std::move(options), std::move(input));
}

}  // namespace infeed::detail
