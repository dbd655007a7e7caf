#include "engine/iterator_context.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/detail/begin_thread.h>

#if defined(__SANITIZE_THREAD__)
#define INFEED_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define INFEED_THREAD_SANITIZER
#endif
#endif

namespace infeed {
namespace {

int checked_threads_max(int threads_max) {
  if (threads_max >= 0) return threads_max;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("threads_max is {}; give 1 or more, or 0 for no limit", threads_max));
}

void add_those_in(const detail::AdoptedSeeds& seeds, const Node& node,
                  std::vector<const Node*>& nodes) {
  if (seeds.contains(&node)) nodes.push_back(&node);
  for (const NodePointer& input : node.inputs()) add_those_in(seeds, *input, nodes);
}

std::shared_ptr<Executor> default_executor(
    int thread_count, const std::function<void(std::string_view)>& on_thread_start) {
#if defined(INFEED_THREAD_SANITIZER)
  return Executor::threads(thread_count, on_thread_start);
#else
  return Executor::tbb(thread_count, on_thread_start);
#endif
}

}  // namespace

IteratorContext::IteratorContext(const IterateOptions& options)
    : memory_(options.memory_bytes_max),
      given_inline_(options.executor != nullptr && options.executor->concurrency() == 0),
      threads_(checked_threads_max(options.threads_max)),
      on_thread_start_(options.on_thread_start),
      executor_(options.executor),
      knobs_(options.tuner.bounds),
      recorder_(detail::Recorder::of(*this, options.recording, recording_)) {}

RecordingStatus IteratorContext::recording() const {
  return recorder_ == nullptr ? recording_ : recorder_->status();
}

void IteratorContext::begin_thread(const std::string& name) const {
  detail::begin_thread(name, on_thread_start_);
}

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

StageContext IteratorContext::shared_by_all(StageContext context) const {
  context.set_pass(0);
  if (context.inner.outermost != nullptr)
    context.inner.key = seeds_of(*context.inner.outermost).seed;
  return context;
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

detail::InnerDraws IteratorContext::inner_draws(const Node& input,
                                                const StageContext::Inner& inner) const {
  const std::lock_guard lock(inner_seeds_mutex_);
  detail::InnerDraws draws;
  if (inner.outermost == nullptr) {
    add_those_in(inner_seeds_, input, draws.nodes);
  } else {
    draws.by_outermost = inner_seeds_.contains(inner.outermost);
  }
  return draws;
}

void IteratorContext::note_inner_draws(const detail::InnerDraws& draws,
                                       const StageContext::Inner& inner) {
  for (const Node* const node : draws.nodes) note_inner_draws(*node);
  if (draws.by_outermost) note_inner_draws(*inner.outermost);
}

detail::AdoptedSeeds IteratorContext::seeds_for_checkpoint() const {
  const std::lock_guard lock(inner_seeds_mutex_);
  detail::AdoptedSeeds seeds = adopted_seeds_;
  seeds.insert(inner_seeds_.begin(), inner_seeds_.end());
  return seeds;
}

Executor& IteratorContext::executor() {
  const std::lock_guard lock(executor_mutex_);
  if (executor_ == nullptr) {
    executor_ = default_executor(threads_.take_for_pool(cores()), on_thread_start_);
  }
  return *executor_;
}

int IteratorContext::concurrency() {
  const std::lock_guard lock(executor_mutex_);
  return executor_ != nullptr ? executor_->concurrency() : cores();
}

int IteratorContext::cores() {
  if (cores_ == 0) cores_ = usable_cores();
  return cores_;
}

void IteratorContext::cancel() {
  cancelled_.store(true, std::memory_order_release);
  const std::lock_guard lock(wakers_mutex_);
  for (const auto& wake : wakers_) wake();
}

CancellationWaker::CancellationWaker(IteratorContext& run, std::function<void()> wake)
    : run_(run), place_(run.add_waker(std::move(wake))) {}

CancellationWaker::~CancellationWaker() { run_.remove_waker(place_); }

IteratorContext::WakerPlace IteratorContext::add_waker(std::function<void()> wake) {
  const std::lock_guard lock(wakers_mutex_);
  return wakers_.insert(wakers_.end(), std::move(wake));
}

void IteratorContext::remove_waker(WakerPlace place) {
  const std::lock_guard lock(wakers_mutex_);
  wakers_.erase(place);
}

}  // namespace infeed
