#include "infeed/pipeline/iterator.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "run_context.h"
#include "signature.h"
#include "watchdog.h"

namespace infeed::detail {

std::uint64_t next_epoch(std::atomic<std::uint64_t>& iterations, const IterateOptions& options) {
  if (!options.resume) return iterations.fetch_add(1, std::memory_order_relaxed);
  // Iterations started after a resumed one go on counting behind it.
  const std::uint64_t resumed = options.resume->epoch;
  std::uint64_t seen = iterations.load(std::memory_order_relaxed);
  while (seen <= resumed &&
         !iterations.compare_exchange_weak(seen, resumed + 1, std::memory_order_relaxed)) {
  }
  return resumed;
}

IteratorCore::IteratorCore(NodePointer node, IterateOptions options)
    : node_(std::move(node)),
      run_(std::make_shared<RunContext>(options.memory_bytes_max, std::move(options.executor))),
      epoch_(options.epoch.value_or(0)),
      hashes_order_(options.order_hash),
      order_hash_(options.resume ? options.resume->order_hash : 0),
      chunk_(node_->type()) {
  check_memory(*node_, options.memory_bytes_max);
  if (options.resume) check_signature(*options.resume, *node_);
  StageScope scope{.run = *run_, .counters = nullptr};
  scope.set_pass(epoch_);
  root_ = node_->open(scope);
  if (options.resume) resume(*options.resume);
  if (options.watchdog.count() > 0) watchdog_ = std::make_unique<Watchdog>(*run_, options.watchdog);
}

IteratorCore::~IteratorCore() {
  run_->cancel();
  watchdog_ = nullptr;
  root_ = nullptr;  // joins the drivers, which use run_
}

void IteratorCore::resume(const Checkpoint& checkpoint) {
  run_->set_assume_no_errors(checkpoint.errors == 0);
  const std::uint64_t skipped = root_->skip(checkpoint.position);
  run_->set_assume_no_errors(false);
  if (skipped < checkpoint.position) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the checkpoint was taken after {} elements, but the dataset now ends "
                            "after {}; the data has changed since",
                            checkpoint.position, skipped));
  }
  position_ = skipped;
  errors_before_ = checkpoint.errors;
}

bool IteratorCore::refill() {
  if (chunk_.has_error()) {
    const ErrorPointer error = chunk_.take_error();
    ++position_;
    if (hashes_order_) order_hash_.add(static_cast<std::uint64_t>(error->code()));
    throw Error(*error);
  }
  if (ended_) return false;
  const Pull pulled = root_ == nullptr ? Pull::cancelled : pull_root();
  if (pulled != Pull::values) end_stages();
  switch (pulled) {
    case Pull::end:
      ended_ = true;
      return false;
    case Pull::cancelled:
      if (const ErrorPointer failure = run_->failure(); failure != nullptr) throw Error(*failure);
      throw Error(ErrorCode::cancelled,
                  fmt::format("the iterator was cancelled after {} elements", position_));
    case Pull::values:
      break;
  }
  return chunk_.size() > 0 || refill();
}

Pull IteratorCore::pull_root() {
  if (root_ == nullptr) return Pull::cancelled;
  if (watchdog_ != nullptr) watchdog_->consumer_waits(true);
  try {
    const Pull pulled = root_->pull(chunk_, chunk_.capacity());
    if (watchdog_ != nullptr) watchdog_->consumer_waits(false);
    return pulled;
  } catch (...) {
    // Not an element's error but a stage's own, such as a memory limit: it can't go on.
    if (watchdog_ != nullptr) watchdog_->consumer_waits(false);
    ended_ = true;
    end_stages();
    throw;
  }
}

/// Nothing more will come, so what the stages hold is let go, however long the iterator is kept.
void IteratorCore::end_stages() {
  root_ = nullptr;
  run_->drop_spare_blocks();
}

Checkpoint IteratorCore::checkpoint() const {
  return Checkpoint{.position = position_,
                    .epoch = epoch_,
                    .errors = errors_before_ + run_->errors_seen(),
                    .order_hash = order_hash_.value(),
                    .signature = signature_of(*node_)};
}

void IteratorCore::cancel() { run_->cancel(); }
PipelineStatistics IteratorCore::statistics() const { return run_->statistics(); }
const MemoryAccount& IteratorCore::memory() const { return run_->memory(); }

}  // namespace infeed::detail
