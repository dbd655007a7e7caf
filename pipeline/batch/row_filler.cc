#include "batch/row_filler.h"

#include <algorithm>
#include <chrono>

#include <infeed/detail/start_threads.h>
#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"
#include "engine/recording/call_watch.h"
#include "engine/recording/note_calls.h"
#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

// Where batches come more quickly than that, the consumer waits a little for several.
constexpr double kQuickUs = 100;
constexpr auto kCollectBatches = std::chrono::microseconds(200);
// What may keep a consumer that takes part from a batch that is ready: an element, and a block's read.
// Half a MiB takes 50 to 100 us out of the page cache; a limit of little more made the consumer sleep
// for a millisecond after each read that somebody disturbed.
constexpr double kTakePartUs = 100;
constexpr double kTakePartReadUs = 300;
// Others mostly are done with what holds up the consumer before it could sleep and wake.
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
                     Stage& input, const TypeInfo& in_type, const Place& begin)
    : run_(run),
      counters_(counters),
      spec_(spec),
      input_(input),
      in_type_(in_type),
      begin_(begin),
      size_(spec.size),
      share_(run.threads(), spec.parallelism != 1 && !run.is_inline()),
      others_have_cores_(share_.count() != 0 && run.concurrency() > 1),
      required_(run.memory(), spec.name),
      batch_bytes_(spec.batch_bytes_min),
      knob_(run.knobs(), counters, knob_of(spec, share_.count() != 0, run),
            [this](auto workers) { set_workers(static_cast<std::size_t>(workers)); }) {
  required_.grow(batch_bytes_);
  counters_.has_own_calls = true;
  counters_.has_threads = share_.count() != 0;
}

RowFiller::~RowFiller() {
  hand_off_.stop();
  for (std::thread& thread : threads_) thread.join();
  while (!batches_.empty()) {
    drop_rows(*batches_.back());
    batches_.pop_back();
  }
}

void RowFiller::begin() {
  if (share_.count() != 0) share_.grow(threads_wanted(spec_, run_));
  const Lock lock = hand_off_.lock();
  has_begun_ = true;
  if (share_.count() == 0) return;
  workers_ = static_cast<std::size_t>(std::min<std::int64_t>(share_.count(), knob_.value()));
  add_threads(std::min<std::size_t>(1, workers_));
}

/// As many as the system gives; throws when that are fewer than `threads_min`.
void RowFiller::add_threads(std::size_t threads_min) {
  if (threads_.size() < workers_) {
    start_threads(
        threads_, workers_ - threads_.size(), [this] { work(); }, threads_min);
  }
  workers_ = std::min(workers_, threads_.size());
  counters_.note_parallelism(static_cast<int>(workers_), spec_.parallelism == autotune);
}

TracedPlace RowFiller::trace(std::uint64_t row) const {
  TracedPlace traced = places_.find(row);
  if (!traced.place) return trace_range(input_, row, size_);
  traced.place->count = size_;  // of the batch
  return traced;
}

void RowFiller::set_workers(std::size_t workers) {
  const Lock lock = hand_off_.lock();
  if (!has_begun_ || hand_off_.stopped()) return;  // begin() looks at the knob
  workers_ = std::min(workers, static_cast<std::size_t>(share_.count()));
  add_threads(0);
  wake_workers();
  ready_.wake_all();
}

void RowFiller::work() {
  run_.begin_thread(spec_.name);
  try {
    OwnStretches own;
    Lock lock = hand_off_.lock();
    while (wait_for_work(lock, own)) {
      ++at_work_;
      do_some(lock, own);
      --at_work_;
      note_absence();
      if (!has_turn()) ready_.wake_one();
    }
  } catch (...) {
    hand_off_.abort(terminal_error());
  }
}

/// False when nothing will come any more. What is under way may leave more work: a piece of a batch whose
/// pieces are written one after the other. Whoever does it may be the consumer, who leaves the rest to
/// the threads; so they stay until all is done.
bool RowFiller::wait_for_work(Lock& lock, OwnStretches& own) {
  while (hand_off_.goes_on() && !(has_ended_ && is_quiet())) {
    if (has_turn() && has_work()) return true;
    // The tuner has no use for one of the threads, nor for the memory that it would keep.
    if (!has_turn() && workers_ < threads_.size()) own.drop_free();
    (has_turn() ? work_ : turn_).sleep(lock);
  }
  return false;
}

bool RowFiller::can_write() const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [this](const Todo& todo) { return can_start(todo); });
}

bool RowFiller::has_work() const { return can_place() || can_claim() || can_write(); }

bool RowFiller::has_turn(std::size_t on_their_way) const {
  if (workers_ == 0) return false;
  const std::size_t at_work = at_work_ + on_their_way;
  return at_work == 0 || at_work + (takes_part_ ? 1 : 0) < workers_;
}

void RowFiller::do_some(Lock& lock, OwnStretches& own) {
  ++busy_;
  // What it has read itself is in its cache; what others have read is for when there is no more to
  // be read.
  const auto own_piece = std::find_if(pieces_.begin(), pieces_.end(), [&](const Todo& todo) {
    return own.has(todo.piece.rows) && can_start(todo);
  });
  if (own_piece != pieces_.end()) {
    write(lock, own_piece);
  } else if (can_place()) {
    place_parked(lock);
  } else if (can_claim()) {
    claim(lock, own);
  } else if (const auto any = std::find_if(pieces_.begin(), pieces_.end(),
                                           [this](const Todo& todo) { return can_start(todo); });
             any != pieces_.end()) {
    write(lock, any);
  }
  --busy_;
  if (!has_blocks_left_ && is_quiet()) end_blocks();
  if (has_ended_) wake_workers();
  if (!spec_.rows_have_places) wake_worker();  // a piece of the same batch may be next
  tell_ready();
}

Pull RowFiller::take(Chunk& out, std::size_t want) {
  if (!has_begun_) begin();
  Lock lock = hand_off_.lock();
  is_away_ = false;
  is_short_of_memory_ = false;  // what it waits for is made anyway
  while (true) {
    while (out.slots() < want && !out.has_error() && front_is_ready()) hand_over_front(out);
    if (!out.empty()) return leave(), Pull::values;
    if (!hand_off_.goes_on()) return Pull::cancelled;
    if (is_over()) {
      if (failure_ != nullptr) throw Error(*failure_);
      return Pull::end;
    }
    if (workers_ == 0 && has_work()) {
      do_some(lock, own_);
    } else if (can_take_part()) {
      take_part(lock);
    } else if (!poll_until_ready(lock)) {
      wait_until_ready(lock);
    }
  }
}

// ---- the consumer's side ----

bool RowFiller::front_is_ready() const {
  return !batches_.empty() && (batches_.front()->is_made || !batches_.front()->errors.empty());
}

std::size_t RowFiller::ready_batches() const {
  const auto unready = std::find_if(batches_.begin(), batches_.end(),
                                    [](const auto& batch) { return !batch->is_made; });
  return static_cast<std::size_t>(unready - batches_.begin());
}

bool RowFiller::can_take_part() const {
  if (workers_ == 0) return has_work();  // nobody else does it, however long it takes
  if (element_ticks_ == 0 || element_ticks_ > ticks_of_us(kTakePartUs)) return false;
  if (at_work_ >= workers_) return false;
  const bool can_read = reads_blocks_ && slow_read_ticks_ < ticks_of_us(kTakePartReadUs);
  return can_place() || can_write() || (can_read && can_claim());
}

void RowFiller::take_part(Lock& lock) {
  const WaitWatch wait(run_.recorder());
  const std::uint64_t begin_ticks = ticks_now();
  takes_part_ = true;
  try {
    do_some(lock, own_);
  } catch (...) {
    if (!lock.owns_lock()) HandOff::lock_again(lock);
    hand_off_.abort_locked(terminal_error());
  }
  StageCounters::add(counters_.wait_ticks, ticks_now() - begin_ticks);
}

void RowFiller::leave() {
  is_away_ = true;
  left_ticks_ = ticks_now();
}

void RowFiller::note_absence() {
  if (!takes_part_ || !is_away_ || ticks_now() - left_ticks_ < ticks_of_us(kAwayUs)) return;
  takes_part_ = false;
  wake_worker();
}

bool RowFiller::come_quickly() const {
  return element_ticks_ != 0 && element_ticks_ * size_ < ticks_of_us(kQuickUs);
}

bool RowFiller::is_worth_waking() const {
  return front_is_ready() || is_over() || !hand_off_.goes_on() || can_take_part();
}

bool RowFiller::poll_until_ready(Lock& lock) {
  if (!come_quickly() || workers_ == 0 || !others_have_cores_) return false;
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

void RowFiller::wait_until_ready(Lock& lock) {
  const WaitWatch wait(run_.recorder());
  const std::uint64_t begin_ticks = ticks_now();
  takes_part_ = element_ticks_ != 0 && element_ticks_ < ticks_of_us(kTakePartUs);
  // It may leave work that it began in the serial form, while those who came then found none.
  wake_worker();
  while (!is_worth_waking()) {
    if (come_quickly()) {
      wake_at_ = std::max<std::size_t>(2, rows_ahead_max() / 2 / size_);
      ready_.wait_once_for(lock, kCollectBatches);
    } else {
      wake_at_ = 1;
      ready_.wait_once(lock);
    }
  }
  wake_at_ = 0;
  StageCounters::add(counters_.wait_ticks, ticks_now() - begin_ticks);
}

void RowFiller::tell_ready() {
  if (wake_at_ == 0 || !(front_is_ready() || is_over())) return;
  const bool is_urgent = is_over() || !batches_.front()->errors.empty() || is_short_of_memory_;
  if (is_urgent || ready_batches() >= wake_at_) ready_.wake_one();
}

void RowFiller::hand_over_front(Chunk& out) {
  BatchInFill& front = *batches_.front();
  if (!front.errors.empty()) {
    out.set_error(std::move(front.errors.front()));
    front.errors.pop_front();
    return;
  }
  if (front.rows_error != nullptr) {
    out.set_error(std::move(front.rows_error));
  } else {
    note_buffered(0 - front.made.size(), 0 - front.made.bytes());
    out.held().set(run_.memory(), out.held().bytes() + front.made.bytes());
    out.append_from(front.made, 1);
  }
  if (front.made.size() != 0) return;
  const bool was_short = is_short_of_memory_ || over_bytes_ != 0;
  drop_rows(front);
  spare_.push_back(std::move(batches_.front()));
  batches_.pop_front();
  ++first_batch_;
  // Not for each batch: at half of what may be ahead.
  if (was_short || rows_ <= first_batch_ * size_ + rows_ahead_max() / 2) {
    is_short_of_memory_ = false;
    wake_worker();
  }
}

/// One that had its turn, if there is one: what it has read last is in its core's cache.
void RowFiller::wake_worker() {
  Sleepers& sleepers = work_.asleep() > 0 ? work_ : turn_;
  if (sleepers.asleep() <= 0) return;
  const auto on_their_way = static_cast<std::size_t>(work_.on_their_way() + turn_.on_their_way());
  if (has_turn(on_their_way) && has_work()) sleepers.wake_one();
}

void RowFiller::wake_workers() {
  work_.wake_all();
  turn_.wake_all();
}

/// More of it, or less: sums are modulo 2^64.
void RowFiller::note_buffered(std::uint64_t batches, std::uint64_t bytes) {
  buffered_batches_ += batches;
  buffered_bytes_ += bytes;
  counters_.note_buffered(buffered_batches_, buffered_bytes_);
}

// ---- the end of blocks, and of all ----

void RowFiller::note_damage(std::uint64_t row, const RecordBlockSource::Place& place) {
  has_blocks_left_ = false;
  if (damage_ && damage_->row <= row) return;
  damage_ = Damage{row, place};
  drop_pieces_behind(row);
}

/// They need not be written, and could not be: while batches have grown beyond their memory only the
/// one with the damage would grow on, which waits for the end of all pieces.
void RowFiller::drop_pieces_behind(std::uint64_t row) {
  std::erase_if(pieces_,
                [&](const Todo& todo) { return first_row_of(*todo.batch) + todo.piece.row > row; });
}

/// No stretch is under way.
void RowFiller::end_blocks() {
  std::optional<RecordBlockSource::Place> place;
  if (damage_) {
    forget_rows_from(damage_->row);
    place = damage_->place;
    damage_.reset();
  }
  std::exchange(source_, nullptr)->leave(place);
  note_blocks(false);
  has_blocks_left_ = true;
  is_short_of_memory_ = false;
  wake_worker();
}

void RowFiller::forget_rows_from(std::uint64_t row) {
  source_->note({.records = row - rows_});  // fewer: the sum is modulo 2^64
  rows_ = row;
  while (!batches_.empty() && first_row_of(*batches_.back()) >= row) {
    drop_rows(*batches_.back());
    if (!batches_.back()->errors.empty()) return;
    batches_.pop_back();
  }
  if (batches_.empty() || first_row_of(*batches_.back()) + batches_.back()->placed <= row) return;
  BatchInFill& batch = *batches_.back();
  batch.placed = batch.done = static_cast<std::size_t>(row - first_row_of(batch));
  std::erase_if(batch.failed, [&](const auto& failed) { return failed.first >= batch.placed; });
  if (spec_.rows_have_places) return;
  batch.appended = batch.placed - batch.failed.size();
  spec_.truncate(batch.filling, batch.appended);
}

void RowFiller::end_input(Lock& lock, ErrorPointer failure) {
  has_ended_ = true;
  failure_ = std::move(failure);
  if (!batches_.empty()) finish_if_complete(lock, *batches_.back());
}

}  // namespace infeed::detail
