#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"
#include "engine/recording/live_page.h"
#include "engine/recording/recorder.h"
#include "engine/recording/waiting_threads.h"

// The recorder's work in its own thread.
namespace infeed::detail {
namespace {

// Looks at the threads, and windows, to one of what is rarer.
constexpr std::uint64_t kLooksPerWindow = 10;
constexpr std::uint64_t kWindowsPerHistogram = 50;
constexpr std::uint64_t kWindowsPerPage = 5;
// A step is late from half as long again as the usual one of the last few hundred on.
constexpr std::size_t kStepsForTypical = 256;
constexpr std::uint64_t kOutlierTimes = 4;

std::uint64_t median_of(std::vector<std::uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

bool Recorder::look() {
  look_for_quota();
  look_at_threads();
  if (++looks_ % kLooksPerWindow == 0) write_down(false);
  return true;
}

/// The accounts are told when a core is let go again: what is new in them ended since the last look.
void Recorder::look_for_quota() {
  const std::uint64_t now = ticks_now();
  const std::uint64_t before = std::exchange(looked_at_ticks_, now);
  const Throttling all = accounts_.read();
  const Throttling known = std::exchange(throttling_, all);
  if (before == 0 || all.held_back_ns <= known.held_back_ns) return;
  const std::uint64_t held_ns = all.held_back_ns - known.held_back_ns;
  throttled_since_window_ns_ += held_ns;
  // Each core counts its own; together they can't have been held back for longer than they were one
  // after the other, nor, when this thread was held back with them, for longer than it has slept.
  const std::uint64_t times = std::max<std::uint64_t>(all.times - known.times, 1);
  const std::uint64_t end_ns = ns_since_start(now);
  const std::uint64_t slept_ns = end_ns - ns_since_start(before);
  const std::uint64_t length_ns = std::max(std::min(held_ns, slept_ns), held_ns / times);
  append(fmt::format("{{\"held_back\": {{\"begin_ns\": {}, \"end_ns\": {}}}}}\n",
                     end_ns - std::min(end_ns, length_ns), end_ns));
}

/// Where threads that have been in one call for long are waiting.
void Recorder::look_at_threads() {
  const std::uint64_t now = ticks_now();
  const std::lock_guard lock(threads_mutex_);
  for (const WatchedThread& thread : threads_) {
    const StageCounters* const stage = thread.stage.load(std::memory_order_relaxed);
    const std::uint64_t since = thread.since_ticks.load(std::memory_order_relaxed);
    if (stage == nullptr || since == 0 || now < since + slow_ticks_) continue;
    waits_.push_back({thread.thread, stage, now, where_thread_waits(thread.thread)});
  }
}

/// Where the call was seen most often; "" when it was never seen waiting.
const char* Recorder::seen_waiting(const RecordedSlowCall& call) const {
  std::unordered_map<std::string_view, int> seen;
  const char* most = "";
  int most_times = 0;
  for (const Wait& wait : waits_) {
    if (wait.thread != call.thread || wait.stage != call.stage || *wait.where == '\0') continue;
    if (wait.at_ticks < call.begin_ticks || wait.at_ticks > call.end_ticks) continue;
    if (const int times = ++seen[wait.where]; times > most_times) {
      most = wait.where;
      most_times = times;
    }
  }
  return most;
}

void Recorder::append(const std::string& line) {
  if (live_ != nullptr) live_->add(line);
  if (file_ && is_writing_) file_->append(line);
}

void Recorder::flush() {
  if (!file_ || !is_writing_) return;
  try {
    file_->write();
  } catch (...) {
    // The run goes on; what was written stays.
    is_writing_ = false;
    const std::lock_guard lock(mutex_);
    status_.problem = current_error()->what();
  }
}

void Recorder::write_header() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const double unix_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  append(
      fmt::format("{}\"program\": {}, \"host\": {}, \"started_unix_s\": {:.6f}, \"slow_after_ns\": "
                  "{}}}\n",
                  recording_begin(), json_text(program_invocation_short_name),
                  json_text(host.data()), unix_s, ns_of_ticks(slow_ticks_)));
  flush();
}

void Recorder::write_down(bool is_last) {
  write_window();
  std::vector<RecordedStepRow> rows;
  std::vector<RecordedSlowCall> calls;
  std::vector<std::pair<std::uint64_t, std::string>> tuning;
  {
    const std::lock_guard lock(mutex_);
    rows.swap(rows_);
    calls.swap(slow_);
    tuning.swap(tuning_);
  }
  write_steps(std::move(rows));
  write_slow_calls(std::move(calls));
  for (const auto& [at_ns, text] : tuning) {
    append(
        fmt::format("{{\"tuning\": {{\"at_ns\": {}, \"text\": {}}}}}\n", at_ns, json_text(text)));
  }
  if (++windows_written_ % kWindowsPerHistogram == 0 || is_last) {
    write_histograms();
    accounts_.find_groups();
  }
  flush();
  if (live_ != nullptr && windows_written_ % kWindowsPerPage == 0 && !live_->show()) {
    live_ = nullptr;
  }
  // Calls that are still under way have waits that are to be kept.
  const std::uint64_t keep_from = ticks_now() - ticks_of_us(10e6);
  std::erase_if(waits_, [keep_from](const Wait& wait) { return wait.at_ticks < keep_from; });
}

void Recorder::write_window() {
  const Window window = windows_.look(ns_since_start(ticks_now()));
  write_new_stages();
  append(line_of_window(window, std::exchange(throttled_since_window_ns_, 0), ids_));
}

/// The whole list, when there are stages that it didn't have.
void Recorder::write_new_stages() {
  const std::vector<const StageCounters*>& stages = windows_.stages();
  const std::size_t known = ids_.size();
  for (const StageCounters* const stage : stages) {
    ids_.try_emplace(stage, static_cast<int>(ids_.size()));
  }
  if (ids_.size() == known) return;
  append(line_of_stages(windows_.statistics().stages, stages, ids_));
}

void Recorder::write_steps(std::vector<RecordedStepRow> rows) {
  if (rows.empty()) return;
  const std::uint64_t typical_ns = median_of(step_lengths_ns_);
  const std::uint64_t slow_ns = ns_of_ticks(slow_ticks_);
  const bool knows_typical = step_lengths_ns_.size() >= 16;
  std::vector<RecordedStepRow> late;
  std::vector<RecordedStepRow> ordinary;
  for (RecordedStepRow& row : rows) {
    const std::uint64_t length_ns = row.length_ns();
    if (step_lengths_ns_.size() < kStepsForTypical) {
      step_lengths_ns_.push_back(length_ns);
    } else {
      step_lengths_ns_[row.number % kStepsForTypical] = length_ns;
    }
    const bool is_late =
        knows_typical && length_ns > typical_ns + std::max(slow_ns, typical_ns / 2);
    (is_late ? late : ordinary).push_back(std::move(row));
  }
  if (!ordinary.empty()) append(line_of_steps("steps", ordinary, has_steps_));
  if (!late.empty()) append(line_of_steps("late_steps", late, has_steps_));
}

void Recorder::write_slow_calls(std::vector<RecordedSlowCall> calls) {
  for (RecordedSlowCall& call : calls) {
    if (!ids_.contains(call.stage)) {  // an inner dataset's stage, opened since the window
      const std::lock_guard lock(mutex_);
      slow_.push_back(std::move(call));
      continue;
    }
    call.waited_in = seen_waiting(call);
    const std::uint64_t usual_ns = usual_call_ns(*call.stage);
    const bool is_outlier = call.took_ns > kOutlierTimes * usual_ns;
    append(line_of_slow_call(is_outlier ? "outlier" : "slow", call, id_of(*call.stage)));
  }
}

std::uint64_t Recorder::usual_call_ns(const StageCounters& stage) const {
  std::uint64_t all = 0;
  for (const auto& count : stage.calls_by_log2_ns) all += count.load(std::memory_order_relaxed);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < stage.calls_by_log2_ns.size(); ++i) {
    below += stage.calls_by_log2_ns[i].load(std::memory_order_relaxed);
    if (2 * below >= all) return std::uint64_t{2} << i;
  }
  return 0;
}

int Recorder::id_of(const StageCounters& stage) const { return ids_.at(&stage); }

void Recorder::write_histograms() {
  for (const StageCounters* const stage : windows_.stages()) {
    std::string counts;
    for (const auto& count : stage->calls_by_log2_ns) {
      counts +=
          fmt::format("{}{}", counts.empty() ? "" : ",", count.load(std::memory_order_relaxed));
    }
    append(fmt::format("{{\"histogram\": {{\"stage\": {}, \"calls_by_log2_ns\": [{}]}}}}\n",
                       id_of(*stage), counts));
  }
}

}  // namespace infeed::detail
