#include "engine/iterator_counters.h"

#include <algorithm>

#include "engine/threads/clock.h"

namespace infeed::detail {

StageCounters& IteratorCounters::of_stage(const std::string& name, StageCounters* consumer,
                                          std::size_t ordinal) {
  const std::lock_guard lock(counters_mutex_);
  for (Entry& entry : counters_) {
    if (entry.counters.consumer == consumer && entry.ordinal == ordinal &&
        entry.counters.name == name) {
      return entry.counters;
    }
  }
  Entry& entry = counters_.emplace_back();
  entry.ordinal = ordinal;
  entry.counters.name = name;
  entry.counters.consumer = consumer;
  return entry.counters;
}

template <class Counts>
std::uint64_t IteratorCounters::errors_where(const Counts& counts) const {
  const std::lock_guard lock(counters_mutex_);
  std::uint64_t arisen = 0;
  std::uint64_t most = hidden_errors_.load(std::memory_order_relaxed);
  for (const Entry& entry : counters_) {
    if (!counts(entry.counters)) continue;
    arisen += entry.counters.errors_arisen.load(std::memory_order_relaxed);
    most = std::max(most, entry.counters.errors.load(std::memory_order_relaxed));
  }
  return std::max(arisen, most);
}

std::uint64_t IteratorCounters::errors_seen() const {
  return errors_where([](const StageCounters&) { return true; });
}

std::uint64_t IteratorCounters::errors_before(const StageCounters& consumer) const {
  return errors_where([&consumer](const StageCounters& counters) {
    const StageCounters* above = counters.consumer;
    while (above != nullptr && above != &consumer) above = above->consumer;
    return above != nullptr;
  });
}

void IteratorCounters::note_hidden_errors(std::uint64_t errors) {
  // The same ones in each pass that reads the cache: they are not added up.
  std::uint64_t known = hidden_errors_.load(std::memory_order_relaxed);
  while (known < errors &&
         !hidden_errors_.compare_exchange_weak(known, errors, std::memory_order_relaxed)) {
  }
}

std::uint64_t IteratorCounters::progress() const {
  const std::lock_guard lock(counters_mutex_);
  std::uint64_t total = 0;
  for (const Entry& entry : counters_) {
    total += entry.counters.elements.load(std::memory_order_relaxed);
    total += entry.counters.work_ticks.load(std::memory_order_relaxed);
    total += entry.counters.skipped.load(std::memory_order_relaxed);
  }
  return total;
}

std::uint64_t IteratorCounters::elements_replayed() const {
  const std::lock_guard lock(counters_mutex_);
  std::uint64_t most = 0;
  for (const Entry& entry : counters_) {
    most = std::max(most, entry.counters.elements.load(std::memory_order_relaxed));
  }
  return most;
}

std::string IteratorCounters::who_waits_for_whom() const {
  const std::lock_guard lock(counters_mutex_);
  const auto is_inside = [](const StageCounters& counters) {
    return counters.inside.load(std::memory_order_relaxed) > 0;
  };
  std::string text;
  std::string waiter = "the consumer";
  const StageCounters* consumer = nullptr;
  while (true) {
    const auto found = std::find_if(counters_.begin(), counters_.end(), [&](const Entry& entry) {
      return entry.counters.consumer == consumer && is_inside(entry.counters);
    });
    if (found == counters_.end()) break;
    text += waiter + " waits for " + found->counters.name + "; ";
    waiter = found->counters.name;
    consumer = &found->counters;
  }
  return text + waiter + " is inside its own code (a user's function, a read, or a full queue)";
}

PipelineStatistics IteratorCounters::statistics() const {
  const std::lock_guard lock(counters_mutex_);
  const auto load = [](const std::atomic<std::uint64_t>& value) {
    return value.load(std::memory_order_relaxed);
  };
  PipelineStatistics result;
  for (const Entry& entry : counters_) {
    const StageCounters& counters = entry.counters;
    StageStatistics& stage = result.stages.emplace_back();
    stage.name = counters.name;
    stage.path = counters.path();
    for (const auto* above = counters.consumer; above != nullptr; above = above->consumer) {
      ++stage.depth;
    }
    stage.elements = load(counters.elements);
    stage.errors = load(counters.errors);
    stage.dropped_records = load(counters.dropped_records);
    stage.dropped_bytes = load(counters.dropped_bytes);
    stage.pulls = load(counters.pulls);
    const std::uint64_t ticks = load(counters.ticks);
    stage.total_ns = ns_of_ticks(ticks);
    std::uint64_t upstream = 0;
    for (const Entry& other : counters_) {
      if (other.counters.consumer == &counters) upstream += load(other.counters.ticks);
    }
    stage.exclusive_ns = counters.has_threads ? ns_of_ticks(load(counters.work_ticks))
                                              : ns_of_ticks(ticks - std::min(ticks, upstream));
    stage.wait_ns = ns_of_ticks(load(counters.wait_ticks));
    stage.full_ns = ns_of_ticks(load(counters.full_ticks));
    stage.buffered_elements = load(counters.buffered_elements);
    stage.buffered_bytes = load(counters.buffered_bytes);
  }
  return result;
}

}  // namespace infeed::detail
