#include "engine/iterator_context.h"

#include <algorithm>

namespace infeed {

void IteratorContext::fail(ErrorPointer error) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failure_ == nullptr) failure_ = std::move(error);
  }
  cancel();
}

ErrorPointer IteratorContext::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

Seeds IteratorContext::seeds_of(const Node& node) const {
  const auto adopted = adopted_seeds_.find(&node);
  return adopted != adopted_seeds_.end() ? adopted->second : node.seeds().value_or(Seeds{});
}

StageContext IteratorContext::shared_by_all(StageContext scope) const {
  scope.set_pass(0);
  if (scope.inner.outermost != nullptr) scope.inner.key = seeds_of(*scope.inner.outermost).seed;
  return scope;
}

bool IteratorContext::adopted_other_seeds() const {
  return std::any_of(adopted_seeds_.begin(), adopted_seeds_.end(), [](const auto& entry) {
    const Seeds own = entry.first->seeds().value_or(Seeds{});
    return own.seed != entry.second.seed || own.seed2 != entry.second.seed2;
  });
}

void IteratorContext::note_inner_draws(const Node& node) {
  const std::lock_guard lock(inner_seeds_mutex_);
  inner_seeds_.try_emplace(&node, seeds_of(node));
}

detail::AdoptedSeeds IteratorContext::seeds_for_checkpoint() const {
  const std::lock_guard lock(inner_seeds_mutex_);
  detail::AdoptedSeeds seeds = adopted_seeds_;
  seeds.insert(inner_seeds_.begin(), inner_seeds_.end());
  return seeds;
}

Executor& IteratorContext::executor() {
  const std::lock_guard lock(executor_mutex_);
  if (executor_ == nullptr) executor_ = Executor::make_default();
  return *executor_;
}

std::shared_ptr<SpareBlocks> IteratorContext::spare_blocks() {
  constexpr std::uint64_t kBytesMax = std::uint64_t{8} << 20;
  constexpr std::uint64_t kBytesMin = std::uint64_t{1} << 20;  // less doesn't help
  const std::lock_guard lock(spare_blocks_mutex_);
  if (spare_blocks_ != nullptr) return spare_blocks_;
  const std::uint64_t limit = memory_.limit_bytes();
  const std::uint64_t bytes = limit == 0 ? kBytesMax : std::min(limit / 16, kBytesMax);
  if (bytes < kBytesMin || !memory_.try_reserve_best_effort(bytes)) return nullptr;
  spare_blocks_ = std::make_shared<SpareBlocks>(bytes);
  return spare_blocks_;
}

void IteratorContext::drop_spare_blocks() {
  const std::lock_guard lock(spare_blocks_mutex_);
  if (spare_blocks_ == nullptr) return;
  memory_.release_best_effort(spare_blocks_->bytes_max());
  spare_blocks_ = nullptr;
}

void IteratorContext::cancel() {
  cancelled_.store(true, std::memory_order_release);
  const std::lock_guard lock(wakers_mutex_);
  for (const auto& wake : wakers_) wake();
}

IteratorContext::WakerRegistration::WakerRegistration(IteratorContext& run,
                                                      std::function<void()> wake)
    : run_(run) {
  const std::lock_guard lock(run_.wakers_mutex_);
  place_ = run_.wakers_.insert(run_.wakers_.end(), std::move(wake));
}

IteratorContext::WakerRegistration::~WakerRegistration() {
  const std::lock_guard lock(run_.wakers_mutex_);
  run_.wakers_.erase(place_);
}

detail::StageCounters& IteratorContext::counters_of(const std::string& name,
                                                    detail::StageCounters* consumer,
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
std::uint64_t IteratorContext::errors_where(const Counts& counts) const {
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

std::uint64_t IteratorContext::errors_seen() const {
  return errors_where([](const detail::StageCounters&) { return true; });
}

std::uint64_t IteratorContext::errors_before(const detail::StageCounters& consumer) const {
  return errors_where([&consumer](const detail::StageCounters& counters) {
    const detail::StageCounters* above = counters.consumer;
    while (above != nullptr && above != &consumer) above = above->consumer;
    return above != nullptr;
  });
}

void IteratorContext::note_hidden_errors(std::uint64_t errors) {
  // The same ones in each pass that reads the cache: they are not added up.
  std::uint64_t known = hidden_errors_.load(std::memory_order_relaxed);
  while (known < errors &&
         !hidden_errors_.compare_exchange_weak(known, errors, std::memory_order_relaxed)) {
  }
}

std::uint64_t IteratorContext::progress() const {
  const std::lock_guard lock(counters_mutex_);
  std::uint64_t total = 0;
  for (const Entry& entry : counters_) {
    total += entry.counters.elements.load(std::memory_order_relaxed);
    total += entry.counters.work_ticks.load(std::memory_order_relaxed);
    total += entry.counters.skipped.load(std::memory_order_relaxed);
  }
  return total;
}

std::uint64_t IteratorContext::elements_replayed() const {
  const std::lock_guard lock(counters_mutex_);
  std::uint64_t most = 0;
  for (const Entry& entry : counters_) {
    most = std::max(most, entry.counters.elements.load(std::memory_order_relaxed));
  }
  return most;
}

std::string IteratorContext::who_waits_for_whom() const {
  const std::lock_guard lock(counters_mutex_);
  const auto is_inside = [](const detail::StageCounters& counters) {
    return counters.inside.load(std::memory_order_relaxed) > 0;
  };
  std::string text;
  std::string waiter = "the consumer";
  const detail::StageCounters* consumer = nullptr;
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

PipelineStatistics IteratorContext::statistics() const {
  const std::lock_guard lock(counters_mutex_);
  const auto load = [](const std::atomic<std::uint64_t>& value) {
    return value.load(std::memory_order_relaxed);
  };
  PipelineStatistics result;
  for (const Entry& entry : counters_) {
    const detail::StageCounters& counters = entry.counters;
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
    stage.total_ns = detail::ns_of_ticks(ticks);
    std::uint64_t upstream = 0;
    for (const Entry& other : counters_) {
      if (other.counters.consumer == &counters) upstream += load(other.counters.ticks);
    }
    stage.exclusive_ns = counters.has_threads
                             ? detail::ns_of_ticks(load(counters.work_ticks))
                             : detail::ns_of_ticks(ticks - std::min(ticks, upstream));
    stage.wait_ns = detail::ns_of_ticks(load(counters.wait_ticks));
    stage.full_ns = detail::ns_of_ticks(load(counters.full_ticks));
    stage.buffered_elements = load(counters.buffered_elements);
    stage.buffered_bytes = load(counters.buffered_bytes);
  }
  return result;
}

}  // namespace infeed
