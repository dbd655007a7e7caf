#include "engine/tuning/tuner_thread.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/freed_memory.h"
#include "engine/iterator_context.h"
#include "engine/threads/clock.h"
#include "tune/tried_settings.h"

namespace infeed::detail {
namespace {

// While nothing is to be done, one look in four is made: a cut quota is seen in half a second.
constexpr int kSettledLooks = 4;
// A consumer that has asked for nothing for so long is away.
constexpr std::uint64_t kAwayNs = 1'000'000'000;
constexpr std::size_t kChangesKept = 256;
constexpr std::size_t kNotesKept = 64;

/// Returns the user's policy, else the tuner, which INFEED_TRY=1 lets try other settings, too.
std::shared_ptr<TuningPolicy> policy_of(const TunerOptions& options) {
  if (options.policy != nullptr) return options.policy;
  auto tuner = make_tuner(options.profile, options.mode == TunerMode::advice_only);
  const char* const tries = std::getenv("INFEED_TRY");  // NOLINT(concurrency-mt-unsafe)
  const bool is_wanted = tries != nullptr && std::string_view(tries) == "1";
  if (!is_wanted || options.mode != TunerMode::on) return tuner;
  return try_settings(std::move(tuner));
}

/// Forgets the first entries of a log that has more than `most`. Returns how many.
template <class Entry>
std::size_t keep_last(std::vector<Entry>& log, std::size_t most) {
  const std::size_t dropped = log.size() - std::min(log.size(), most);
  log.erase(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(dropped));
  return dropped;
}

}  // namespace

TunerThread::TunerThread(IteratorContext& run, const TunerOptions& options,
                         const std::atomic<std::uint64_t>& taken)
    : run_(run),
      look_every_(options.look_every),
      only_advises_(options.mode == TunerMode::advice_only),
      policy_(policy_of(options)),
      observer_(run, taken),
      taken_(taken) {
  look();  // begins with what the profile says
  start();
}

void TunerThread::start() {
  try {
    thread_ = std::make_unique<PeriodicThread>([this] { run_.begin_thread("tuner"); }, look_every_,
                                               [this] { return step(); });
  } catch (const Error&) {  // no thread to be had: the settings stay as they are
  }
}

void TunerThread::wake() {
  thread_.reset();
  rests_.store(false, std::memory_order_relaxed);
  away_since_ns_ = 0;
  start();
}

/// Returns false when the thread ends.
bool TunerThread::step() {
  look();
  const bool gives_back = is_giving_back_ && !is_frozen_;
  if (gives_back || !consumer_is_away()) return true;
  rests_.store(true, std::memory_order_relaxed);
  return false;
}

bool TunerThread::consumer_is_away() {
  const std::uint64_t consumed =
      taken_.load(std::memory_order_relaxed) + run_.counters().consumer_wait_ticks();
  const std::uint64_t now_ns = ns_of_ticks(ticks_now());
  if (away_since_ns_ == 0 || std::exchange(consumed_, consumed) != consumed)
    away_since_ns_ = now_ns;
  return now_ns - away_since_ns_ > kAwayNs;
}

void TunerThread::look() {
  if (is_frozen_) return;
  if (is_settled_ && ++skipped_looks_ % kSettledLooks != 0) return;
  TuningDecision decision = policy_->observe(observer_.look());
  is_settled_ = decision.is_settled;
  if (!only_advises_) {
    for (const KnobSetting& setting : decision.settings)
      run_.knobs().set(setting.id, setting.value);
    if (decision.ready_bytes_max) {
      run_.memory().bound_best_effort(*decision.ready_bytes_max);
      run_.room_wakers().wake();  // there may be more room
    }
    give_memory_back(decision);
  }
  take_down(std::move(decision));
}

void TunerThread::give_memory_back(const TuningDecision& decision) {
  if (decision.ready_bytes_max) {
    is_giving_back_ = *decision.ready_bytes_max != UINT64_MAX;
    bytes_to_hold_ = *decision.ready_bytes_max;
  }
  if (!is_giving_back_ || run_.memory().best_effort_bytes() > bytes_to_hold_) return;
  is_giving_back_ = false;
  give_freed_memory_back();
}

void TunerThread::take_down(TuningDecision decision) {
  if (Recorder* const recorder = run_.recorder()) {
    for (const TuningChange& change : decision.finished) recorder->note_tuning(change.text());
    if (decision.begun) recorder->note_tuning(decision.begun->text());
    for (const std::string& note : decision.notes) recorder->note_tuning(note);
  }
  const std::lock_guard lock(mutex_);
  auto& changes = report_.changes;
  for (TuningChange& change : decision.finished) {
    if (!changes.empty() && changes.back().outcome == TuningChange::Outcome::pending) {
      changes.back() = std::move(change);
    } else {
      changes.push_back(std::move(change));
    }
  }
  if (decision.begun) changes.push_back(std::move(*decision.begun));
  report_.changes_dropped += keep_last(changes, kChangesKept);
  for (std::string& note : decision.notes) report_.notes.push_back(std::move(note));
  keep_last(report_.notes, kNotesKept);
  if (!decision.verdict.empty()) report_.verdict = std::move(decision.verdict);
  if (!decision.profile.empty()) report_.profile = std::move(decision.profile);
}

TuningReport TunerThread::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

}  // namespace infeed::detail
