#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <type_traits>
#include <utility>

#include "feed/fed_workers.h"
#include "feed/feed_messages.h"
#include "infeed/feed.h"

namespace infeed {
namespace {

using detail::AnswerKind;
using detail::ReceivedAnswer;
using detail::StepRequest;
using Clock = std::chrono::steady_clock;

/// How long to wait for a message at most. The workers' silence is judged as often, also while hundreds
/// of others say that they live.
constexpr std::chrono::milliseconds kWaitMax{50};

void check_options(const FeedOptions& options) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "Feeder: " + what);
  };
  if (options.workers.empty()) refuse("workers is empty; give the ranks that serve_steps()");
  std::vector<int> ranks = options.workers;
  std::sort(ranks.begin(), ranks.end());
  if (std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) {
    refuse("a rank is twice among the workers; give each once");
  }
  if (options.range_steps == 0 || options.ranges_ahead == 0) {
    refuse("range_steps or ranges_ahead is 0; give 1 or more");
  }
  if (options.silent_after.count() < 1 || options.slow_after < options.silent_after) {
    refuse("silent_after must be 1 ms or more, and slow_after no less");
  }
  check_world(options.share);
}

}  // namespace

class Feeder::Steps {
 public:
  Steps(Communicator& communicator, FeedOptions options)
      : communicator_(communicator),
        options_(std::move(options)),
        run_(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count())),
        workers_(options_.workers),
        place_(options_.resume.value_or(Checkpoint{})) {
    check_options(options_);
    next_ = place_.position;
  }

  std::optional<ColumnBatch> next() {
    return kept_if_terminal([this]() -> std::optional<ColumnBatch> {
      if (is_over_) return std::nullopt;
      find_start();
      return hand_out(wait_for_next());
    });
  }

  /// Makes sure that a worker has said where the data begins.
  void find_start() {
    if (count_) return;
    kept_if_terminal([this] {
      listening_since_ = Clock::now();
      if (ranges_.empty()) ask_next(0);
      while (!count_) wait();
    });
  }

  const Checkpoint& place() const { return place_; }
  Cardinality cardinality() const { return *count_; }
  std::uint64_t position() const { return next_; }
  const std::vector<FedWorker>& workers() const { return workers_.shown(); }

 private:
  /// A range of steps that a worker has been asked for. The first one has none: it asks for the place
  /// at the start.
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t steps = 0;
    std::size_t worker = 0;        ///< the last one that was asked
    Clock::time_point moved = {};  ///< when it was asked for, or gave its last step

    std::uint64_t end() const { return first + steps; }
    bool has(std::uint64_t step) const { return first <= step && step < end(); }
  };
  struct Answer {
    std::size_t worker;
    ReceivedAnswer received;

    AnswerKind kind() const { return received.head().kind; }
  };

  template <class Function>
  std::invoke_result_t<Function> kept_if_terminal(const Function& function) {
    if (failure_) throw Error(*failure_);
    try {
      return function();
    } catch (const Error& error) {
      if (error.is_terminal()) failure_ = error;
      throw;
    }
  }

  /// Goes on behind this place.
  void begin_at(Checkpoint place) {
    next_ = asked_to_ = place.position;
    place_ = std::move(place);
    ranges_.clear();
    answers_.clear();
  }

  // Waiting.

  ReceivedAnswer wait_for_next() {
    listening_since_ = Clock::now();
    while (true) {
      ask_ahead();
      const auto found = answers_.find(next_);
      if (found == answers_.end()) {
        wait();
      } else if (found->second.kind() == AnswerKind::failed) {
        replace_failed(found->second);
      } else {
        Answer answer = std::move(found->second);
        answers_.erase(found);
        ++workers_[answer.worker].steps;
        return std::move(answer.received);
      }
    }
  }

  void wait() {
    if (options_.stop.stop_requested()) {
      throw detail::terminal(ErrorCode::cancelled,
                             fmt::format("feed: stopped before step {}", next_));
    }
    if (auto message = communicator_.receive_any(kWaitMax)) take(std::move(*message));
    if (Clock::now() - judged_ < kWaitMax) return;
    judged_ = Clock::now();
    replace_silent();
  }

  void take(Communicator::Message message) {
    if (message.tag != detail::kFeedAnswerTag) return;
    const auto worker = workers_.heard(message.source);
    if (!worker) return;
    Answer answer{*worker, ReceivedAnswer(std::move(message))};
    if (answer.kind() == AnswerKind::alive) return;
    const detail::StepAnswer& head = answer.received.head();
    const std::uint64_t step = head.step;
    if (head.run != run_ || (count_ && answer.kind() == AnswerKind::place)) {
      ++workers_[*worker].late;
    } else if (!count_) {
      take_start(answer);
    } else if (step < next_ || !keep(step, std::move(answer))) {
      ++workers_[*worker].late;
    } else {
      for (Range& range : ranges_) {
        if (range.has(step)) range.moved = Clock::now();
      }
    }
  }

  /// Keeps the first answer to a step. A step that was made counts more than a worker that can't: the
  /// range is another one's by now, who says it once.
  bool keep(std::uint64_t step, Answer answer) {
    const auto found = answers_.find(step);
    if (found != answers_.end()) {
      if (found->second.kind() != AnswerKind::failed || answer.kind() == AnswerKind::failed) {
        return false;
      }
      answers_.erase(found);
    }
    answers_.emplace(step, std::move(answer));
    return true;
  }

  void take_start(const Answer& answer) {
    if (answer.kind() == AnswerKind::failed) {
      replace_failed(answer);
      return;
    }
    count_ = answer.received.cardinality();
    Checkpoint place = answer.received.place();
    place.position += options_.skip;
    begin_at(std::move(place));
  }

  // Asking.

  std::uint64_t ranges_of(std::size_t worker) const {
    return static_cast<std::uint64_t>(
        std::count_if(ranges_.begin(), ranges_.end(),
                      [&](const Range& range) { return range.worker == worker; }));
  }

  /// Returns the worker that owes least, but for one that shall not be asked; or none.
  std::optional<std::size_t> choose_worker(std::optional<std::size_t> but_for = {}) const {
    std::optional<std::size_t> chosen;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (!workers_.answers(i) || i == but_for) continue;
      if (!chosen || ranges_of(i) < ranges_of(*chosen)) chosen = i;
      // Behind an error each worker would have to make all elements, so one of them does.
      if (place_.errors > 0) break;
    }
    return chosen;
  }

  void ask_ahead() {
    std::erase_if(ranges_, [&](const Range& range) { return range.end() <= next_; });
    while (const auto worker = choose_worker()) {
      if (ranges_of(*worker) >= options_.ranges_ahead) return;
      ask_next(options_.range_steps);
    }
    if (ranges_.empty()) workers_.throw_none_left(next_);
  }

  void ask_next(std::uint64_t steps) {
    const auto worker = choose_worker();
    if (!worker) workers_.throw_none_left(next_);
    ranges_.push_back({.first = std::max(asked_to_, next_), .steps = steps});
    asked_to_ = ranges_.back().end();
    ask(ranges_.back(), *worker);
  }

  /// Asks a worker for what is missing of a range.
  void ask(Range& range, std::size_t worker) {
    range.worker = worker;
    range.moved = Clock::now();
    workers_.asked(worker);
    std::uint64_t first = std::max(range.first, next_);
    while (first < range.end() && answers_.count(first) > 0) ++first;
    const bool is_fresh = !count_ && !options_.resume;  // only a worker knows the seeds it drew
    const std::string bytes = bytes_of(StepRequest{.run = run_,
                                                   .first = first,
                                                   .steps = range.end() - first,
                                                   .epoch = options_.epoch,
                                                   .share = options_.share,
                                                   .pipeline = options_.pipeline,
                                                   .place = is_fresh ? "" : place_.to_text()});
    try {
      communicator_.send(workers_[worker].rank, detail::kFeedRequestTag,
                         std::as_bytes(std::span(bytes)));
    } catch (const Error& error) {
      workers_.fail(worker, error);  // replaced when nothing else comes
    }
  }

  // Replacing.

  /// Asks other workers for what a worker that failed owes.
  void replace_failed(const Answer& answer) {
    const std::size_t failed = answer.worker;
    workers_.fail(failed, answer.received.error());
    std::erase_if(answers_, [&](const auto& entry) {
      return entry.second.worker == failed && entry.second.kind() == AnswerKind::failed;
    });
    replace_ranges([failed](const Range& range) { return range.worker == failed; });
  }

  void replace_silent() {
    for (const Range& range : ranges_) {
      if (!is_whole(range)) {
        workers_.judge(range.worker, listening_since_, options_.silent_after);
      }
    }
    const Clock::time_point now = Clock::now();
    replace_ranges([&](const Range& range) {
      return !workers_.answers(range.worker) ||
             now - std::max(range.moved, listening_since_) >= options_.slow_after;
    });
  }

  template <class IsLost>
  void replace_ranges(const IsLost& is_lost) {
    for (Range& range : ranges_) {
      if (is_whole(range) || !is_lost(range)) continue;
      if (const auto other = choose_worker(range.worker)) {
        ++workers_[range.worker].ranges_replaced;
        ask(range, *other);
      } else if (!workers_.answers(range.worker)) {
        workers_.throw_none_left(next_);
      }  // else it is slow, and the only one
    }
  }

  /// Returns true if all is there that may come of a range.
  bool is_whole(const Range& range) const {
    if (!count_) return false;
    for (std::uint64_t step = std::max(range.first, next_); step < range.end(); ++step) {
      const auto found = answers_.find(step);
      if (found == answers_.end()) return false;
      const AnswerKind kind = found->second.kind();
      if (kind == AnswerKind::end || kind == AnswerKind::failed) return true;
    }
    return true;
  }

  // Handing out.

  std::optional<ColumnBatch> hand_out(const ReceivedAnswer& answer) {
    Checkpoint place = answer.place();
    if (answer.head().kind == AnswerKind::end) {
      is_over_ = true;
      begin_at(std::move(place));
      return std::nullopt;
    }
    std::optional<ColumnBatch> batch;
    std::optional<Error> error;
    if (answer.head().kind == AnswerKind::batch) batch = answer.batch();
    if (answer.head().kind == AnswerKind::error) error = answer.error();
    if (place.position != next_ + 1) {
      throw detail::terminal(
          ErrorCode::internal,
          fmt::format("feed: a worker's place is {} behind step {}", place.position, next_));
    }
    const bool is_first_error = place.errors > 0 && place_.errors == 0;
    ++next_;
    place_ = std::move(place);
    // Steps that were asked for as if no element had failed may not be those that follow.
    if (is_first_error) {
      ++run_;
      begin_at(Checkpoint(place_));
    }
    if (error) throw Error(*error);
    return batch;
  }

  Communicator& communicator_;
  const FeedOptions options_;
  std::uint64_t run_;  ///< no earlier Feeder's of this process
  detail::FedWorkers workers_;
  std::optional<Cardinality> count_;  ///< none before a worker has said where the data begins
  Checkpoint place_;                  ///< before next_
  std::uint64_t next_ = 0;            ///< the step to be handed out
  std::uint64_t asked_to_ = 0;        ///< the first step that nobody was asked for
  std::deque<Range> ranges_;          ///< that aren't used up, in order
  std::map<std::uint64_t, Answer> answers_;
  Clock::time_point listening_since_;
  Clock::time_point judged_;  ///< when the workers' silence was judged last
  bool is_over_ = false;
  std::optional<Error> failure_;  ///< terminal
};

Feeder::Feeder(Communicator& communicator, FeedOptions options)
    : steps_(std::make_unique<Steps>(communicator, std::move(options))) {}
Feeder::~Feeder() = default;

std::optional<ColumnBatch> Feeder::next() { return steps_->next(); }

Checkpoint Feeder::checkpoint() {
  steps_->find_start();
  return steps_->place();
}

Cardinality Feeder::cardinality() {
  steps_->find_start();
  return steps_->cardinality();
}

std::uint64_t Feeder::position() const { return steps_->position(); }
std::vector<FedWorker> Feeder::workers() const { return steps_->workers(); }

}  // namespace infeed
