#include "engine/recording/recorded_steps.h"

#include <algorithm>
#include <utility>

namespace infeed::detail {
namespace {

// The most rows that wait to be written. Rows beyond it are dropped and counted.
constexpr std::size_t kRowsMax = 8192;
// A step is late if it takes at least half as long again as the median of the last few hundred.
constexpr std::size_t kStepsForTypical = 256;
constexpr std::size_t kStepsToJudge = 16;

std::uint64_t median_of(std::vector<std::uint64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void RecordedSteps::begin_pulls(std::uint64_t now_ticks) {
  end_pulls(now_ticks);
  has_pulls_ = true;
  pulls_ = {.begin_ticks = now_ticks};
}

/// Counts all time but the waiting as the consumer's own work.
void RecordedSteps::end_pulls(std::uint64_t now_ticks) {
  if (!std::exchange(has_pulls_, false)) return;
  const std::uint64_t length_ticks = now_ticks - pulls_.begin_ticks;
  RecordedStepRow row;
  row.number = steps_;
  row.begin_ns = clock_.ns_at(pulls_.begin_ticks);
  row.infeed_wait_ns = clock_.ns_of(pulls_.wait_ticks);
  row.compute_ns = clock_.ns_of(length_ticks - std::min(length_ticks, pulls_.wait_ticks));
  row.elements = pulls_.elements;
  steps_ += pulls_.elements;
  add_row(std::move(row));
}

void RecordedSteps::expect() {
  if (are_told_.load(std::memory_order_relaxed)) return;
  has_pulls_ = false;
  steps_ = 0;  // the first one that is told
  const std::lock_guard lock(mutex_);
  rows_.clear();
  are_told_.store(true, std::memory_order_relaxed);
}

void RecordedSteps::note(const StepTimes& step) {
  const auto ns = [](std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()));
  };
  RecordedStepRow row;
  row.number = steps_++;
  row.begin_ns = clock_.ns_at(step.begin);
  row.infeed_wait_ns = ns(step.infeed_wait);
  row.transfer_ns = ns(step.transfer);
  row.compute_ns = ns(step.compute);
  row.all_reduce_ns = ns(step.all_reduce);
  row.idle_ns = ns(step.idle);
  row.elements = step.elements;
  row.name = step.name;
  add_row(std::move(row));
}

void RecordedSteps::add_row(RecordedStepRow row) {
  const std::lock_guard lock(mutex_);
  if (rows_.size() == kRowsMax) {
    ++dropped_;
    return;
  }
  rows_.push_back(std::move(row));
}

std::uint64_t RecordedSteps::dropped() {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

/// Returns the longest time of a step that isn't late; UINT64_MAX while there are too few steps.
std::uint64_t RecordedSteps::length_of_late_ns() const {
  if (lengths_ns_.size() < kStepsToJudge) return UINT64_MAX;
  const std::uint64_t typical_ns = median_of(lengths_ns_);
  return typical_ns + std::max(ns_of_ticks(clock_.slow_ticks()), typical_ns / 2);
}

std::vector<std::string> RecordedSteps::take_lines() {
  std::vector<RecordedStepRow> rows;
  bool are_told = false;
  {
    const std::lock_guard lock(mutex_);
    rows.swap(rows_);
    are_told = are_told_;
  }
  if (rows.empty()) return {};
  const std::uint64_t late_ns = length_of_late_ns();
  std::vector<RecordedStepRow> late;
  std::vector<RecordedStepRow> ordinary;
  for (RecordedStepRow& row : rows) {
    const std::uint64_t length_ns = row.length_ns();
    if (lengths_ns_.size() < kStepsForTypical) {
      lengths_ns_.push_back(length_ns);
    } else {
      lengths_ns_[judged_++ % kStepsForTypical] = length_ns;
    }
    (length_ns > late_ns ? late : ordinary).push_back(std::move(row));
  }
  std::vector<std::string> lines;
  if (!ordinary.empty()) lines.push_back(line_of_steps("steps", ordinary, are_told));
  if (!late.empty()) lines.push_back(line_of_steps("late_steps", late, are_told));
  return lines;
}

}  // namespace infeed::detail
