#include "engine/iterator_counters.h"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_set>

#include "engine/statistics/pull_sample.h"
#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

/// Returns a function that says of each stage whether it lies before `consumer`. Ask it in the order of
/// the counters, where a stage follows its consumer.
auto stages_before(const StageCounters& consumer) {
  return [seen = std::unordered_set<const StageCounters*>{&consumer}](
             const StageCounters& counters) mutable {
    return seen.contains(counters.consumer) && seen.insert(&counters).second;
  };
}

}  // namespace

StageCounters& IteratorCounters::of_stage(const Node& node, StageCounters* consumer,
                                          std::size_t ordinal) {
  const std::lock_guard lock(counters_mutex_);
  const auto found = by_place_.find({consumer, ordinal, node.name()});
  Entry* entry = found == by_place_.end() ? nullptr : found->second;
  if (entry == nullptr) {
    // The stages of the iterator's own description were added with the root. So this one belongs to
    // an inner dataset that `consumer` opens.
    entry = &add_tree(node, consumer, ordinal, consumer);
    label_new_entries();
  }
  entry->is_open = true;
  StageCounters::add(entry->counters.passes, 1);
  return entry->counters;
}

std::uint64_t StageCounters::input_wanted(std::uint64_t of_root) const {
  constexpr int kStagesMax = 64;  // farther away from the root it isn't worth the look
  if (depth > kStagesMax) return kAllElements;
  const std::uint64_t given = consumer == nullptr ? of_root : consumer->input_wanted(of_root);
  if (given == kAllElements || node == nullptr) return given;
  return node->input_taken(given).value_or(kAllElements);
}

/// Adds the stages from the consumer's side to the sources. Numbers them the other way.
IteratorCounters::Entry& IteratorCounters::add_tree(const Node& node, StageCounters* consumer,
                                                    std::size_t ordinal,
                                                    const StageCounters* outer) {
  Entry& entry = counters_.emplace_back();
  entry.ordinal = ordinal;
  entry.counters.name = node.name();
  entry.counters.given_name = node.given_name();
  entry.counters.traits = node.traits();
  const std::optional<Seeds> seeds = node.seeds();
  entry.counters.draws = seeds && !seeds->inner;
  entry.counters.passes_may_differ = seeds.has_value();
  entry.counters.own = std::vector<std::atomic<std::uint64_t>>(entry.counters.traits.counts.size());
  entry.counters.consumer = consumer;
  entry.counters.outer = outer;
  entry.counters.node = &node;
  entry.counters.depth = consumer == nullptr ? 0 : consumer->depth + 1;
  by_place_.try_emplace({consumer, ordinal, entry.counters.name}, &entry);
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Node* input = node.inputs()[i].get();
    while (!input->has_counters()) input = &input->input();
    const Entry& before = add_tree(*input, &entry.counters, i, outer);
    entry.counters.passes_may_differ |= before.counters.passes_may_differ;
  }
  entry.number = ++kinds_[{outer, entry.counters.name}];
  return entry;
}

/// Labels the last stages, those that have no label. A label never changes, since others read it
/// without the mutex.
void IteratorCounters::label_new_entries() {
  for (auto entry = counters_.rbegin(); entry != counters_.rend(); ++entry) {
    StageCounters& counters = entry->counters;
    if (!counters.label.empty()) return;
    counters.label = counters.name;
    if (kinds_[{counters.outer, counters.name}] > 1) {
      counters.label += fmt::format("[{}]", entry->number);
    }
    if (!counters.given_name.empty()) counters.label += fmt::format(" '{}'", counters.given_name);
  }
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

std::vector<std::string> IteratorCounters::labels() const {
  const std::lock_guard lock(counters_mutex_);
  std::vector<std::string> labels;
  for (const Entry& entry : counters_) labels.push_back(entry.counters.label);
  return labels;
}

const StageCounters* IteratorCounters::find(const Node& node, const StageCounters* consumer,
                                            std::size_t ordinal) const {
  const std::lock_guard lock(counters_mutex_);
  const auto found = by_place_.find({consumer, ordinal, node.name()});
  return found == by_place_.end() ? nullptr : &found->second->counters;
}

std::uint64_t IteratorCounters::errors_seen() const {
  return errors_where([](const StageCounters&) { return true; });
}

std::uint64_t IteratorCounters::errors_before(const StageCounters& consumer) const {
  auto is_before = stages_before(consumer);
  return errors_where([&](const StageCounters& counters) { return is_before(counters); });
}

std::uint64_t IteratorCounters::passing_left_out_before(const StageCounters& consumer) const {
  if (passing_left_out_.load(std::memory_order_relaxed) == 0) return 0;
  auto is_before = stages_before(consumer);
  const std::lock_guard lock(counters_mutex_);
  std::uint64_t left_out = 0;
  for (const Entry& entry : counters_) {
    if (is_before(entry.counters))
      left_out += entry.counters.passing_left_out.load(std::memory_order_relaxed);
  }
  return left_out;
}

std::vector<IteratorCounters::HandedOver> IteratorCounters::handed_over() const {
  const std::lock_guard lock(counters_mutex_);
  std::vector<HandedOver> result;
  const StageCounters* consumer = nullptr;
  for (const Entry& entry : counters_) {
    if (entry.counters.consumer != consumer || entry.ordinal != 0) continue;
    result.push_back({entry.counters.elements.load(std::memory_order_relaxed),
                      entry.counters.errors.load(std::memory_order_relaxed)});
    consumer = &entry.counters;
  }
  return result;
}

void IteratorCounters::note_hidden_errors(std::uint64_t errors) {
  // Each pass that reads the cache reports the same errors, so they are not added up.
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
    total += entry.counters.work_time.ticks.load(std::memory_order_relaxed);
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
  for (const Entry& entry : counters_) {
    if (entry.counters.consumer != consumer || !is_inside(entry.counters)) continue;
    text += waiter + " waits for " + entry.counters.label + "; ";
    waiter = entry.counters.label;
    consumer = &entry.counters;
  }
  return text + waiter + " is inside its own code (a user's function, a read, or a full queue)";
}

void IteratorCounters::begin() {
  begin_cpu_ns_.store(process_cpu_ns(), std::memory_order_relaxed);
  begin_ticks_.store(ticks_now(), std::memory_order_relaxed);
}

void IteratorCounters::note_end() {
  if (end_ticks_.load(std::memory_order_relaxed) != 0) return;
  end_cpu_ns_.store(process_cpu_ns(), std::memory_order_relaxed);
  end_ticks_.store(ticks_now(), std::memory_order_relaxed);
}

StageCounters& IteratorCounters::begin_ready_queue() {
  note_begin();
  waited_before_ticks_.store(consumer_wait_ticks(), std::memory_order_relaxed);
  has_ready_queue_.store(true, std::memory_order_release);
  return ready_queue_;
}

std::uint64_t IteratorCounters::consumer_wait_ticks() const {
  if (has_ready_queue_.load(std::memory_order_acquire)) {
    return waited_before_ticks_.load(std::memory_order_relaxed) +
           ready_queue_.wait_ticks.load(std::memory_order_relaxed);
  }
  const std::lock_guard lock(counters_mutex_);
  if (counters_.empty()) return 0;
  const StageCounters& root = counters_.front().counters;
  const std::uint64_t since = root.pull_begin_ticks.load(std::memory_order_relaxed);
  const std::uint64_t now = ticks_now();
  const std::uint64_t under_way = since == 0 || since > now ? 0 : now - since;
  return root.pull_time.ticks.load(std::memory_order_relaxed) + under_way;
}

std::uint64_t SkippedErrors::count(std::uint64_t passed_over) const {
  const std::vector<IteratorCounters::HandedOver> now = counters_.handed_over();
  for (std::size_t i = 0; i < before_.size(); ++i) {
    if (now[i].elements != before_[i].elements)
      return std::min(passed_over, now[i].errors - before_[i].errors);
  }
  return 0;
}

ResumeWait::ResumeWait(IteratorCounters& counters)
    : counters_(counters),
      begin_ticks_(ticks_now()),
      pulled_before_ticks_(counters.consumer_wait_ticks()) {
  counters_.note_begin();
}

/// Leaves out the resume's pulls, whose time is counted as that of all pulls.
ResumeWait::~ResumeWait() {
  const std::uint64_t pulled = counters_.consumer_wait_ticks() - pulled_before_ticks_;
  const std::uint64_t ticks = ticks_now() - begin_ticks_;
  counters_.add_resume_ticks(ticks - std::min(ticks, pulled));
}

}  // namespace infeed::detail
