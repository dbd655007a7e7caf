#include "infeed/pipeline/iterator.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/records/detail/nearest_names.h>

#include "engine/freed_memory.h"
#include "engine/iterator_context.h"
#include "engine/recording/recorder.h"
#include "engine/resume/resume_report.h"
#include "engine/seeds/kept_seeds.h"
#include "engine/seeds/signature.h"
#include "engine/threads/clock.h"
#include "engine/threads/forks.h"
#include "engine/threads/ready_elements.h"
#include "engine/threads/watchdog.h"
#include "engine/tuning/tuner_thread.h"

namespace infeed::detail {

std::uint64_t next_epoch(std::atomic<std::uint64_t>& iterations, const IterateOptions& options) {
  if (!options.resume) return iterations.fetch_add(1, std::memory_order_relaxed);
  // Iterations that start after a resumed one go on counting from its epoch.
  const std::uint64_t resumed = options.resume->epoch;
  std::uint64_t seen = iterations.load(std::memory_order_relaxed);
  while (seen <= resumed &&
         !iterations.compare_exchange_weak(seen, resumed + 1, std::memory_order_relaxed)) {
  }
  return resumed;
}

void check_described(const Node* node) {
  if (node != nullptr) return;
  throw Error(
      ErrorCode::failed_precondition,
      "this Dataset describes nothing: it was default-constructed or moved from; assign one "
      "to it first");
}

void throw_no_stream() {
  throw Error(ErrorCode::failed_precondition,
              "this Iterator has no stream: it was default-constructed or moved from; assign "
              "dataset.iterate() to it first");
}

namespace {

/// Destroys the stages, which joins their threads, and gives their memory back.
void drop_stages(std::unique_ptr<Stage>& root, IteratorContext& run) {
  if (root == nullptr) return;
  root = nullptr;
  run.readers().drop_spare_blocks();
  give_memory_of_run_back(run.memory().peak_bytes());
}

/// Returns what is known of the elements that a run has read with so many errors.
Known known_with(std::uint64_t errors) { return errors == 0 ? Known::no_errors : Known::errors; }

/// Returns what is known of elements that a run with so many errors may not have read.
Known known_behind(std::uint64_t errors) { return errors == 0 ? Known::nothing : Known::errors; }

/// Returns the root as a resume at this place finds it.
ResumedStage resumed_at(const StreamPlace& place, const TakenBefore& taken, std::uint64_t errors) {
  return {
      .place = place, .bookmark = nullptr, .taken = taken.elements, .known = known_with(errors)};
}

std::string why_it_ended(const ErrorPointer& failure) {
  return failure == nullptr ? "end of data" : failure->what();
}

/// Throws if a bound is impossible, or names no stage: it would be ignored silently.
void check_bounds(IteratorContext& run) {
  for (const KnobBound& bound : run.knobs().bounds()) {
    if (bound.min < 0 || bound.min > bound.max) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("tuner: the bounds of '{}' are {} to {}; give 0 or more, and no more "
                              "than the second one",
                              bound.stage, bound.min, bound.max));
    }
    const std::vector<std::string> labels = run.counters().labels();
    if (std::find(labels.begin(), labels.end(), bound.stage) != labels.end()) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("tuner: there is no stage '{}' to be bounded; the stages are {}",
                            bound.stage, quoted_names(labels)));
  }
}

}  // namespace

IteratorCore::IteratorCore(NodePointer node, IterateOptions options)
    : node_(std::move(node)),
      run_(std::make_shared<IteratorContext>(options)),
      epoch_(options.epoch.value_or(0)),
      hashes_order_(options.order_hash),
      order_hash_(options.resume ? options.resume->order_hash : 0),
      chunk_(node_->type()),
      forks_(forks_of_this_process()),
      tuner_options_(options.tuner),
      may_tune_(options.tuner.mode != TunerMode::off && !run_->is_inline()) {
  check_memory(*node_, options.memory_bytes_max);
  check_epoch(options);
  AdoptedSeeds seeds = options.resume ? check_signature(*options.resume, *node_) : AdoptedSeeds();
  add_kept_seeds(*node_, seeds);
  run_->seeds().adopt(std::move(seeds));
  if (options.stop.stop_possible()) stop_.emplace(options.stop, [run = run_] { run->cancel(); });
  if (options.watchdog.count() > 0) watchdog_ = std::make_unique<Watchdog>(*run_, options.watchdog);
  StageContext context{.run = *run_, .counters = nullptr};
  context.set_pass(epoch_);
  if (options.resume) {
    context.taken = before_.taken = options.resume->taken;
    // After an error each of the elements must be looked at, as if no shard had read them.
    if (options.resume->errors > 0) context.taken.shards = context.taken.elements;
    context.known_of_taken = known_behind(options.resume->errors);
  }
  root_ = node_->open(context);
  check_bounds(*run_);
  if (options.resume) run_->bookmarks().adopt(options.resume->bookmarks, *node_, run_->counters());
  if (options.resume || options.skip > 0) resume(options);
}

IteratorCore::~IteratorCore() {
  if (forks_ != forks_of_this_process()) {
    leave_to_parent();
    return;
  }
  finish_recording(root_ == nullptr ? why_it_ended(failure_) : "iterator destroyed");
  run_->cancel();
  ready_ = nullptr;
  watchdog_ = nullptr;
  tuner_ = nullptr;
  drop_stages(root_, *run_);
}

void IteratorCore::resume(const IterateOptions& options) {
  const Checkpoint checkpoint = options.resume.value_or(Checkpoint{});
  std::uint64_t skipped = 0;
  try {
    const ResumeReport report(*run_, options, checkpoint.position);
    const Waiting waiting(watchdog_.get());
    const ResumeWait resume_wait(run_->counters());
    skipped = root_->skip(checkpoint.position, known_with(checkpoint.errors));
    if (skipped == checkpoint.position) {
      const SkippedErrors errors(run_->counters());
      const std::uint64_t passed_over = root_->skip(options.skip, known_behind(checkpoint.errors));
      skipped += passed_over;
      before_.errors_taken = errors.count(passed_over);
    }
    if (run_->cancelled()) throw Error(*cancellation("while it resumed"));
  } catch (...) {
    fail(terminal_error());
  }
  if (skipped < checkpoint.position) {
    fail(std::make_shared<const Error>(
        ErrorCode::failed_precondition,
        fmt::format("the checkpoint was taken after {} elements, but the dataset now ends after "
                    "{}; the data has changed since",
                    checkpoint.position, skipped)));
  }
  advance(skipped);
  before_.elements = skipped;
  before_.errors = checkpoint.errors;
  before_.errors_taken += checkpoint.errors_taken;
}

bool IteratorCore::refill(const WaitCheck* check) {
  while (true) {
    if (check != nullptr) wait_looking(*check);
    if (chunk_.size() > 0) return true;
    if (chunk_.has_error()) {
      const ErrorPointer error = chunk_.take_error();
      advance(1);
      ++before_.errors_taken;
      if (hashes_order_) order_hash_.add(static_cast<std::uint64_t>(error->code()));
      throw Error(*error);
    }
    if (failure_ != nullptr) throw Error(*failure_);
    if (ended_) return false;
    check_process();
    if (run_->bookmarks().are_many())
      run_->bookmarks().forget_before(resumed_at({epoch_, position()}, before_.taken,
                                                 before_.errors + run_->counters().errors_seen()),
                                      *node_, run_->counters());
    switch (pull_root()) {
      case Pull::values:
        if (check != nullptr && chunk_.slots() == 0) check->look();
        break;
      case Pull::end:
        ended_ = true;
        end_stages();
        return false;
      case Pull::cancelled:
        fail(cancellation(fmt::format("after {} elements", position())));
    }
  }
}

/// Throws in a child process: the iterator's threads are missing there, and may hold its mutexes.
void IteratorCore::check_process() const {
  if (forks_ == forks_of_this_process()) return;
  Error error(ErrorCode::failed_precondition,
              "this iterator was made before fork(), and its threads are in the parent; a Dataset "
              "may be used in a child process, so call iterate() there");
  error.as_terminal();
  throw error;
}

/// Leaks, in a child process, the objects that the parent's threads use: they can't be destroyed
/// without these threads.
void IteratorCore::leave_to_parent() {
  (void)ready_.release();
  (void)root_.release();
  (void)watchdog_.release();
  (void)tuner_.release();
  (void)new std::shared_ptr<IteratorContext>(run_);
}

Pull IteratorCore::pull_root() {
  try {
    const Waiting waiting(watchdog_.get());
    run_->counters().note_begin();
    if (run_->knobs().can_change() && !is_tuning_.load(std::memory_order_relaxed)) begin_tuning();
    if (tuner_ != nullptr && tuner_->rests()) tuner_->wake();
    if (run_->recorder() != nullptr) return recorded_pull(*run_->recorder());
    return pull_or_pop();
  } catch (...) {
    fail(terminal_error());
  }
}

Pull IteratorCore::pull_or_pop() {
  if (ready_ != nullptr) return ready_->pop(chunk_);
  const std::uint64_t given = position() - before_.elements;
  const std::uint64_t wanted = run_->elements_wanted();
  const std::uint64_t most = wanted > given ? wanted - given : 1;
  return root_->pull(chunk_,
                     static_cast<std::size_t>(std::min<std::uint64_t>(most, chunk_.capacity())));
}

Pull IteratorCore::recorded_pull(Recorder& recorder) {
  recorder.start();
  const bool is_pulled_here = ready_ == nullptr;
  const std::uint64_t begin_ticks = is_pulled_here ? 0 : ticks_now();
  const Pull pulled = pull_or_pop();
  const OwnTime time = is_pulled_here ? recorder.threads().last_call()
                                      : OwnTime{begin_ticks, ticks_now() - begin_ticks};
  recorder.steps().note_pull(time, chunk_.slots());
  return pulled;
}

RecordingStatus IteratorCore::recording() const { return run_->recording(); }

void IteratorCore::expect_steps(bool after_the_end) {
  steps_are_late_ |= after_the_end;
  if (run_->recorder() != nullptr) run_->recorder()->steps().expect();
}

void IteratorCore::finish_recording(const std::string& why) {
  if (Recorder* const recorder = run_->recorder()) {
    recorder->steps().take_back(chunk_.slots());
    recorder->finish(why);
  }
}

void IteratorCore::record_step(const StepTimes& step) {
  if (Recorder* const recorder = run_->recorder()) {
    recorder->steps().expect();
    recorder->steps().note(step);
  }
}

std::chrono::nanoseconds IteratorCore::consumer_wait() const {
  return std::chrono::nanoseconds(ns_of_ticks(run_->counters().consumer_wait_ticks()));
}

/// Returns the watchdog's error if that ended the run, or else one that says that it was cancelled.
ErrorPointer IteratorCore::cancellation(std::string_view when) const {
  if (ErrorPointer failure = run_->failure(); failure != nullptr) return failure;
  return std::make_shared<const Error>(ErrorCode::cancelled,
                                       fmt::format("the iterator was cancelled {}", when));
}

void IteratorCore::fail(const ErrorPointer& error) {
  Error failure = *error;
  failure.as_terminal();
  failure_ = std::make_shared<const Error>(std::move(failure));
  end_stages();
  throw Error(*failure_);
}

/// Destroys the stages and frees their memory, since nothing more will come, however long the
/// iterator is kept. Wakes threads that still wait to hand over elements that nobody will take.
void IteratorCore::end_stages() {
  run_->counters().note_end();
  if (tuner_ != nullptr) tuner_->stop();
  if (!steps_are_late_) finish_recording(why_it_ended(failure_));
  run_->cancel();
  ready_ = nullptr;
  drop_stages(root_, *run_);
}

Checkpoint IteratorCore::checkpoint() const {
  Checkpoint checkpoint{.position = position(),
                        .epoch = epoch_,
                        .errors = before_.errors + run_->counters().errors_seen(),
                        .errors_taken = before_.errors_taken,
                        .taken = before_.taken,
                        .order_hash = order_hash_.value(),
                        .signature = signature_of(*node_, run_->seeds().for_checkpoint()),
                        .bookmarks = {}};
  checkpoint.bookmarks = run_->bookmarks().at(
      resumed_at({epoch_, position()}, before_.taken, checkpoint.errors), *node_, run_->counters());
  return checkpoint;
}

/// Starts the tuner: when the first element is asked for, or when a stage with a knob opens later.
void IteratorCore::begin_tuning() {
  if (!may_tune_) return;
  tuner_ = std::make_unique<TunerThread>(*run_, tuner_options_, position_);
  is_tuning_.store(true, std::memory_order_release);
  if (!may_tune_) tuner_->freeze();
}

TuningReport IteratorCore::tuning() const {
  if (is_tuning_.load(std::memory_order_acquire)) return tuner_->report();
  TuningReport report;
  report.verdict = "nothing is tuned: what is marked autotune has its fixed choice";
  return report;
}

void IteratorCore::freeze_tuning() {
  may_tune_ = false;
  if (is_tuning_.load(std::memory_order_acquire)) tuner_->freeze();
}

void IteratorCore::read_ahead_until(std::uint64_t position) {
  run_->set_elements_wanted(position - std::min(position, before_.elements));
}

void IteratorCore::cancel() { run_->cancel(); }
PipelineStatistics IteratorCore::statistics() const {
  PipelineStatistics statistics = run_->counters().statistics();
  statistics.recording_problem = recording().problem;
  return statistics;
}
const MemoryAccount& IteratorCore::memory() const { return run_->memory(); }

void IteratorCore::set_memory_limit(std::uint64_t bytes) {
  check_memory(*node_, bytes);
  run_->memory().set_limit(bytes);
  run_->room_wakers().wake();
}

}  // namespace infeed::detail
