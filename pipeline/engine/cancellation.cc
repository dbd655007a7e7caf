#include "engine/cancellation.h"

#include <utility>

#include "engine/iterator_context.h"

namespace infeed {
namespace detail {

void Cancellation::cancel() {
  cancelled_.store(true, std::memory_order_release);
  const std::lock_guard lock(wakers_mutex_);
  for (const auto& wake : wakers_) wake();
}

void Cancellation::fail(ErrorPointer error) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failure_ == nullptr) failure_ = std::move(error);
  }
  cancel();
}

ErrorPointer Cancellation::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

Cancellation::WakerPlace Cancellation::add_waker(std::function<void()> wake) {
  const std::lock_guard lock(wakers_mutex_);
  const WakerPlace place = wakers_.insert(wakers_.end(), std::move(wake));
  if (cancelled()) (*place)();  // cancel() may have been there before
  return place;
}

void Cancellation::remove_waker(WakerPlace place) {
  const std::lock_guard lock(wakers_mutex_);
  wakers_.erase(place);
}

}  // namespace detail

CancellationWaker::CancellationWaker(IteratorContext& run, std::function<void()> wake)
    : run_(run), place_(run.add_waker(std::move(wake))) {}

CancellationWaker::~CancellationWaker() { run_.remove_waker(place_); }

}  // namespace infeed
