#include "batch/fill/row_filler.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/iterator_context.h"
#include "engine/recording/call_watch.h"
#include "engine/recording/note_calls.h"
#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

// If batches come more quickly than that, the consumer waits a little for several.
constexpr double kQuickUs = 100;
constexpr auto kCollectBatches = std::chrono::microseconds(200);
// The longest work that a consumer takes part in while a batch may become ready: writing an
// element, reading a block. Half a MiB takes 50 to 100 us from the page cache. With a limit just
// above that, the consumer slept for a millisecond after each disturbed read.
constexpr double kTakePartUs = 100;
constexpr double kTakePartReadUs = 300;
// The consumer polls this long: others mostly finish in less time than it takes to sleep and wake.
constexpr double kPollUs = 20;
constexpr int kPausesPerPoll = 32;
// A consumer that is away for longer leaves its core to the threads.
constexpr double kAwayUs = 200;

int threads_wanted(const RowFillSpec& spec, IteratorContext& run) {
  return spec.parallelism == autotune ? run.concurrency()
                                      : static_cast<int>(spec.parallelism.value());
}

KnobSpec knob_of(const RowFillSpec& spec, bool has_threads, IteratorContext& run) {
  const int most = has_threads ? threads_wanted(spec, run) : 0;
  const bool is_tuned = has_threads && spec.parallelism == autotune;
  return {.shape = KnobShape::readers, .value = most, .min = is_tuned ? 0 : most, .max = most};
}

}  // namespace

RowFiller::RowFiller(IteratorContext& run, StageCounters& counters, const RowFillSpec& spec,
                     Stage& input, const TypeInfo& in_type, const Place& begin,
                     BatchGiven batch_given)
    : run_(run),
      counters_(counters),
      spec_(spec),
      input_(input),
      batch_given_(std::move(batch_given)),
      share_(run.threads(), spec.parallelism != 1 && !run.is_inline()),
      told_{.wake_one = [this] { workers_.wake_one(); }, .tell_ready = [this] { tell_ready(); }},
      origins_(spec.size, run.keeps_places()),
      work_(run, counters, hand_off_, spec, input, in_type, begin, told_, origins_),
      knob_(run.knobs(), counters, knob_of(spec, share_.count() != 0, run),
            [this](auto workers) { set_workers(static_cast<int>(workers)); }),
      workers_(hand_off_, {.begin = [this] { run_.begin_thread(spec_.name); },
                           .claim = [this](std::size_t worker) { return claim(worker); },
                           .has_work = [this] { return has_turn() && work_.can_claim(); },
                           .run = [this](auto& lock, auto& task) { this->run(lock, task); }}),
      room_waker_(run.room_wakers(), [this] {
        const Lock lock = hand_off_.lock();
        if (hand_off_.stopped()) return;
        work_.look_again();
        workers_.wake_one();
      }) {
  counters_.has_own_calls = true;
  counters_.has_threads = share_.count() != 0;
}

void RowFiller::begin() {
  if (share_.count() != 0) share_.grow(threads_wanted(spec_, run_));
  const Lock lock = hand_off_.lock();
  has_begun_ = true;
  if (share_.count() == 0) return;
  told_.count = static_cast<std::size_t>(
      workers_.set_count(static_cast<int>(std::min<std::int64_t>(share_.count(), knob_.value()))));
  counters_.note_parallelism(workers_.count(), spec_.parallelism == autotune);
}

/// Sets the number of worker threads, for the tuner. With 0 the consumer does the work itself.
void RowFiller::set_workers(int workers) {
  const Lock lock = hand_off_.lock();
  if (!has_begun_ || hand_off_.stopped() || work_.is_done()) return;  // begin() reads the knob
  try {
    told_.count = static_cast<std::size_t>(workers_.set_count(std::min(workers, share_.count())));
  } catch (const Error&) {
    told_.count = 0;
  }
  counters_.note_parallelism(static_cast<int>(told_.count), true);
  // The other workers would keep memory that nobody uses.
  for (std::size_t i = told_.count; i < tasks_.size(); ++i) tasks_[i].own.drop_free();
  workers_.wake_one();
  ready_.wake_all();
}

TracedPlace RowFiller::trace(std::uint64_t position) const {
  return trace_rows(run_, origins_.rows_of(position), [&](std::uint64_t row) {
    const auto origin = origins_.find(position, row);
    if (!origin) return TracedPlace::unknown("it lies too far back");
    return origin->position ? input_.trace(*origin->position)
                            : work_.stretches().find(origin->number);
  });
}

// ---- the workers ----

/// Returns true if one more worker may work. One worker rests while the consumer takes part.
bool RowFiller::has_turn() const {
  if (told_.count == 0) return false;
  return at_work_ == 0 || at_work_ + (consumer_.takes_part ? 1 : 0) < told_.count;
}

RowWork::Task* RowFiller::claim(std::size_t worker) {
  while (tasks_.size() <= worker) tasks_.emplace_back();
  if (!has_turn() || !work_.claim(tasks_[worker])) return nullptr;
  ++at_work_;
  // The read may wait for long, and nobody else may write what is left.
  const bool reads_alone = tasks_[worker].kind == Task::Kind::read && !has_turn();
  if (reads_alone && consumer_.wake_at != 0 && can_take_part()) ready_.wake_one();
  return &tasks_[worker];
}

void RowFiller::run(Lock& lock, Task& task) {
  work_.run(lock, task);
  --at_work_;
  note_absence();
  if (!has_turn()) ready_.wake_one();
}

void RowFiller::note_absence() {
  const bool is_away = consumer_.takes_part && told_.consumer_is_away;
  if (!is_away || ticks_now() - consumer_.left_ticks < ticks_of_us(kAwayUs)) return;
  consumer_.takes_part = false;
  workers_.wake_one();
}

// ---- the consumer ----

Pull RowFiller::take(Chunk& out, std::size_t want, std::uint64_t position) {
  if (!has_begun_) begin();
  Lock lock = hand_off_.lock();
  told_.consumer_is_away = false;
  work_.batches().memory().look_again();  // the batch that it waits for is made anyway
  while (true) {
    while (out.slots() < want && !out.has_error() && work_.batches().front_is_ready()) {
      hand_over_front(out, position + out.slots());
      // An error may come before its batch.
      if (!out.has_error()) batch_given_(position + out.slots(), work_.batches().elements_given());
    }
    if (!out.empty()) return leave();
    if (!hand_off_.goes_on()) return Pull::cancelled;
    if (work_.is_over()) {
      if (work_.failure() != nullptr) throw Error(*work_.failure());
      return Pull::end;
    }
    if (told_.count == 0 && work_.claim(consumer_.task)) {
      work_.run(lock, consumer_.task);
    } else if (can_take_part()) {
      take_part(lock);
    } else if (!poll_until_ready(lock) && !wait_until_ready(lock)) {
      return leave();
    }
  }
}

/// Returns true if the consumer has something to do that doesn't keep it from a batch for long.
bool RowFiller::can_take_part() {
  if (told_.count == 0) return work_.can_claim();  // no other thread does it, however long it takes
  const std::uint64_t element_ticks = work_.element_ticks();
  if (element_ticks == 0 || element_ticks > ticks_of_us(kTakePartUs)) return false;
  if (at_work_ >= told_.count) return false;
  if (work_.can_place() || work_.batches().can_take_piece()) return true;
  const InputStretches& stretches = work_.stretches();
  return stretches.reads_blocks() && stretches.slow_read_ticks() < ticks_of_us(kTakePartReadUs) &&
         work_.can_read();
}

void RowFiller::take_part(Lock& lock) {
  const WaitWatch wait(run_.recorder());
  const std::uint64_t begin_ticks = ticks_now();
  consumer_.takes_part = true;
  run_or_abort(hand_off_, lock, [&] {
    if (work_.claim(consumer_.task, false)) work_.run(lock, consumer_.task);
  });
  StageCounters::add(counters_.wait_ticks, ticks_now() - begin_ticks);
}

Pull RowFiller::leave() {
  told_.consumer_is_away = true;
  consumer_.left_ticks = ticks_now();
  return Pull::values;
}

/// Returns true if a batch takes less time than sleeping and waking.
bool RowFiller::come_quickly() const {
  return work_.element_ticks() != 0 && work_.element_ticks() * spec_.size < ticks_of_us(kQuickUs);
}

bool RowFiller::is_worth_waking() {
  return work_.batches().front_is_ready() || work_.is_over() || !hand_off_.goes_on() ||
         can_take_part();
}

/// Returns false if nothing was ready after the longest polling time.
bool RowFiller::poll_until_ready(Lock& lock) {
  // Polling keeps a core busy, so the threads need another one.
  if (!come_quickly() || told_.count == 0 || run_.concurrency() == 1) return false;
  const std::uint64_t begin_ticks = ticks_now();
  bool is_ready = false;
  do {
    lock.unlock();
    for (int i = 0; i < kPausesPerPoll; ++i) HandOff::pause();
    HandOff::lock_again(lock);
    is_ready = is_worth_waking();
  } while (!is_ready && ticks_now() - begin_ticks < ticks_of_us(kPollUs));
  StageCounters::add(counters_.wait_ticks, ticks_now() - begin_ticks);
  return is_ready;
}

/// Returns false after the longest wait.
bool RowFiller::wait_until_ready(Lock& lock) {
  const WaitWatch wait(run_.recorder());
  const std::uint64_t begin_ticks = ticks_now();
  const std::uint64_t element_ticks = work_.element_ticks();
  consumer_.takes_part = element_ticks != 0 && element_ticks < ticks_of_us(kTakePartUs);
  // The consumer may leave work that it began in the serial form, when the workers found none.
  workers_.wake_one();
  const auto until = std::chrono::steady_clock::now() + consumer_.wait_max;
  bool in_time = true;
  while (!is_worth_waking() && in_time) {
    const auto collected = std::chrono::steady_clock::now() + kCollectBatches;
    const bool collects = come_quickly() && collected < until;
    consumer_.wake_at =
        collects ? std::max<std::size_t>(2, work_.rows_ahead_max() / 2 / spec_.size) : 1;
    in_time = ready_.wait_once_until(lock, collects ? collected : until) || collects;
  }
  consumer_.wake_at = 0;
  StageCounters::add(counters_.wait_ticks, ticks_now() - begin_ticks);
  return in_time;
}

void RowFiller::tell_ready() {
  if (work_.is_done()) workers_.set_count(0);
  knob_.note_shape(work_.stretches().reads_blocks() ? KnobShape::segments : KnobShape::readers);
  const BatchesInFill& batches = work_.batches();
  if (consumer_.wake_at == 0 || !(batches.front_is_ready() || work_.is_over())) return;
  const bool is_urgent =
      work_.is_over() || batches.front_has_error() || batches.memory().is_short();
  if (is_urgent || batches.ready() >= consumer_.wake_at) ready_.wake_one();
}

void RowFiller::hand_over_front(Chunk& out, std::uint64_t position) {
  if (!work_.hand_over_front(out, position)) return;
  work_.batches().memory().look_again();
  workers_.wake_one();
}

}  // namespace infeed::detail
