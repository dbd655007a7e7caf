#include "map/guard.h"

#include <algorithm>
#include <condition_variable>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <mutex>
#include <system_error>
#include <thread>

#include <infeed/detail/begin_thread.h>
#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"
#include "engine/threads/driver.h"

namespace infeed::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAbandonedMax = 64;
// How late a cancellation may be seen.
constexpr std::chrono::milliseconds kLook{20};

/// What the guarded kernel is called with instead of the user's function. Shared with the threads
/// of calls that were given up.
struct Guarded {
  ElementwiseSpec inner;
  const TypeInfo& in_type;
  mutable std::atomic<int> abandoned{0};  ///< calls given up that are still running

  KernelResult call(void* in, void* out, const Place& place, ErrorPointer& error) const {
    return inner.kernel(inner.function.get(), nullptr, in, out, 1, place, error);
  }
};

ErrorPointer cancelled_error() {
  return std::make_shared<const Error>(ErrorCode::cancelled, "the iteration was ended");
}

ErrorPointer too_late(const ElementwiseSpec& spec, int still_running) {
  return std::make_shared<const Error>(
      ErrorCode::deadline_exceeded,
      fmt::format("the function of {} took longer than its time limit of {}{}", spec.name,
                  spec.guard.time_limit,
                  still_running == 0
                      ? std::string()
                      : fmt::format("; its thread is left to finish ({} such call{} still running)",
                                    still_running, still_running == 1 ? " is" : "s are")));
}

/// Calls the function for one element, again while that may help. Uses up the element.
/// `before_call()` is told of each try; `wait(duration)` is false when there is no more hurry.
template <class BeforeCall, class Wait>
KernelResult call_with_retries(const Guarded& guarded, void* in, void* out, const Place& place,
                               ErrorPointer& error, const BeforeCall& before_call,
                               const Wait& wait) {
  const GuardOptions& options = guarded.inner.guard;
  if (options.retries == 0) {
    before_call();
    return guarded.call(in, out, place, error);
  }
  const TypeInfo& type = guarded.in_type;
  Chunk copy(type, 1);
  KernelResult result{1, 0};
  auto backoff = options.backoff;
  for (int tries = 1;; ++tries) {
    try {
      type.copy_run(copy.back(), in, 1);
    } catch (...) {
      error = current_error();
      break;
    }
    before_call();
    result = guarded.call(copy.back(), out, place, error);
    if (error == nullptr || error->code() != ErrorCode::unavailable) break;
    if (tries > options.retries) {
      error = std::make_shared<const Error>(error->reworded(
          error->code(), fmt::format("{} (tried {} times)", error->message(), tries)));
      break;
    }
    if (!wait(backoff)) {
      error = cancelled_error();
      break;
    }
    error = nullptr;
    backoff = std::min(2 * backoff, options.backoff_max);
  }
  type.destroy(in, 1);
  return {1, result.produced, result.ended};
}

KernelResult run_untimed(const Guarded& guarded, void* in, void* out, std::size_t count,
                         const Place& place, ErrorPointer& error) {
  const auto wait = [&](std::chrono::milliseconds duration) {
    const auto end = Clock::now() + duration;
    while (!place.run->cancelled()) {
      const auto left = end - Clock::now();
      if (left <= left.zero()) return true;
      std::this_thread::sleep_for(std::min<Clock::duration>(left, kLook));
    }
    return false;
  };
  KernelResult total{0, 0};
  while (total.consumed < count && error == nullptr && !total.ended) {
    auto* const from = static_cast<std::byte*>(in) + total.consumed * guarded.in_type.size;
    auto* const to = static_cast<std::byte*>(out) + total.produced * guarded.inner.out_type->size;
    Place here = place;
    here.position += total.consumed;
    auto begin = Clock::now();
    const KernelResult one = call_with_retries(
        guarded, from, to, here, error, [&begin] { begin = Clock::now(); }, wait);
    total.consumed += one.consumed;
    total.produced += one.produced;
    total.ended = one.ended;
    const auto limit = guarded.inner.guard.time_limit;
    if (limit.count() != 0 && error == nullptr && Clock::now() - begin > limit) {
      guarded.inner.out_type->destroy(to, one.produced);
      total.produced -= one.produced;
      error = too_late(guarded.inner, 0);
    }
  }
  return total;
}

/// Some neighbouring elements that a thread puts through the function while the caller looks at the
/// clock.
///
/// Invariants: all members are guarded by mutex_. The thread moves an input out of the caller's
/// memory, and results into it, only under the mutex and only until abandoned_; so after that the
/// caller may go away with its memory, and the thread keeps just its own element and this object.
class TimedRun {
 public:
  TimedRun(std::shared_ptr<const Guarded> guarded, void* in, void* out, std::size_t count,
           const Place& place)
      : guarded_(std::move(guarded)),
        in_(static_cast<std::byte*>(in)),
        out_(static_cast<std::byte*>(out)),
        count_(count),
        place_(place),
        own_in_(guarded_->in_type, 1),
        own_out_(*guarded_->inner.out_type, 1) {
    place_.run = nullptr;  // may be gone before the thread is
  }

  /// For the thread.
  void work() {
    while (take_next()) {
      ErrorPointer error;
      Place place = place_;
      place.position += taken_ - 1;
      const KernelResult result = call_with_retries(
          *guarded_, own_in_.front(), own_out_.back(), place, error, [this] { set_deadline(); },
          [this](std::chrono::milliseconds duration) { return wait(duration); });
      own_in_.drop_front(1);
      own_out_.grow(result.produced);
      if (!give(result, std::move(error))) return;
    }
  }

  /// For the caller: waits until all is done or given up.
  KernelResult wait_for_results(IteratorContext& run, std::thread thread, ErrorPointer& error) {
    std::unique_lock lock(mutex_);
    while (!finished_ && error == nullptr) {
      const auto now = Clock::now();
      if (run.cancelled() && !is_about_to_finish()) {
        error = cancelled_error();
      } else if (now >= deadline_) {
        error = too_late(guarded_->inner, 1 + guarded_->abandoned.load());
      } else {
        changed_.wait_for(lock, std::min<Clock::duration>(deadline_ - now, kLook));
      }
    }
    if (finished_) {
      lock.unlock();
      thread.join();
      error = std::move(error_);
      return done_;
    }
    abandoned_ = true;
    ++guarded_->abandoned;
    if (taken_ == done_.consumed) {
      // It was between two elements: the next one is still the caller's.
      guarded_->in_type.destroy(in_ + taken_ * guarded_->in_type.size, 1);
    }
    thread.detach();
    changed_.notify_all();
    return {done_.consumed + 1, done_.produced};
  }

 private:
  bool take_next() {
    const std::lock_guard lock(mutex_);
    if (abandoned_) {
      --guarded_->abandoned;
      return false;
    }
    if (has_nothing_left()) {
      finished_ = true;
      changed_.notify_all();
      return false;
    }
    guarded_->in_type.relocate(own_in_.back(), in_ + taken_ * guarded_->in_type.size, 1);
    own_in_.grow(1);
    ++taken_;
    return true;
  }

  bool has_nothing_left() const { return taken_ == count_ || error_ != nullptr || done_.ended; }

  /// The thread is behind the last element, and only has to say so. Giving it up then would use up
  /// an element more than there are.
  bool is_about_to_finish() const { return taken_ == done_.consumed && has_nothing_left(); }

  void set_deadline() {
    const std::lock_guard lock(mutex_);
    deadline_ = Clock::now() + guarded_->inner.guard.time_limit;
  }

  bool wait(std::chrono::milliseconds duration) {
    std::unique_lock lock(mutex_);
    deadline_ = Clock::time_point::max();
    return !changed_.wait_for(lock, duration, [this] { return abandoned_; });
  }

  bool give(const KernelResult& result, ErrorPointer error) {
    const std::lock_guard lock(mutex_);
    if (abandoned_) {
      --guarded_->abandoned;
      return false;
    }
    deadline_ = Clock::time_point::max();
    const TypeInfo& type = *guarded_->inner.out_type;
    type.relocate(out_ + done_.produced * type.size, own_out_.front(), result.produced);
    own_out_.drop_front(result.produced);
    done_.consumed += 1;
    done_.produced += result.produced;
    done_.ended = result.ended;
    error_ = std::move(error);
    return true;
  }

  const std::shared_ptr<const Guarded> guarded_;
  std::byte* const in_;
  std::byte* const out_;
  const std::size_t count_;
  Place place_;
  Chunk own_in_;   ///< the thread's alone
  Chunk own_out_;  ///< the thread's alone

  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::size_t taken_ = 0;
  KernelResult done_{0, 0};
  ErrorPointer error_;
  bool finished_ = false;
  bool abandoned_ = false;
};

KernelResult run_timed(const std::shared_ptr<const Guarded>& guarded, void* in, void* out,
                       std::size_t count, const Place& place, ErrorPointer& error) {
  const auto refuse = [&](ErrorPointer why) {
    guarded->in_type.destroy(in, 1);
    error = std::move(why);
    return KernelResult{1, 0};
  };
  if (place.run->cancelled()) return refuse(cancelled_error());
  if (const int running = guarded->abandoned; running >= kAbandonedMax) {
    return refuse(std::make_shared<const Error>(
        ErrorCode::resource_exhausted,
        fmt::format("{} calls of the function of {} that took longer than their time limit of {} "
                    "are still running; no more are begun until some of them end",
                    running, guarded->inner.name, guarded->inner.guard.time_limit)));
  }
  const auto run = std::make_shared<TimedRun>(guarded, in, out, count, place);
  std::thread thread;
  try {
    // The thread may outlive the iterator.
    thread = std::thread([run, name = guarded->inner.name, tell = place.run->on_thread_start()] {
      begin_thread(name, tell);
      run->work();
    });
  } catch (const std::system_error& failure) {
    return refuse(std::make_shared<const Error>(
        ErrorCode::resource_exhausted,
        fmt::format("cannot start a thread for a call with a time limit: {}", failure.what())));
  }
  return run->wait_for_results(*place.run, std::move(thread), error);
}

KernelResult guarded_kernel(const void* function, void*, void* in, void* out, std::size_t count,
                            const Place& place, ErrorPointer& error) {
  // The shared pointer itself is the function, so that a thread left to itself can hold it.
  const auto& guarded = *static_cast<const std::shared_ptr<const Guarded>*>(function);
  const bool timed = guarded->inner.guard.time_limit.count() != 0 && !place.run->is_inline();
  return timed ? run_timed(guarded, in, out, count, place, error)
               : run_untimed(*guarded, in, out, count, place, error);
}

void check(const ElementwiseSpec& spec, const TypeInfo& in_type) {
  const GuardOptions& guard = spec.guard;
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, spec.name + ": " + what);
  };
  if (guard.retries < 0) {
    refuse(fmt::format("retries is {}; give 0 (none) or more", guard.retries.value()));
  }
  if (guard.time_limit.count() < 0) {
    refuse(fmt::format("time_limit is {}; give 0 (none) or more", guard.time_limit));
  }
  if (guard.backoff.count() < 0 || guard.backoff_max < guard.backoff) {
    refuse(fmt::format("backoff is {} and backoff_max {}; give 0 or more, and at least backoff",
                       guard.backoff, guard.backoff_max));
  }
  if (guard.retries > 0 && in_type.copy_run == nullptr) {
    refuse(
        fmt::format("a call can't be tried again, since its element ({}) can't be copied; pass "
                    "it in a std::shared_ptr, or leave out retries",
                    in_type.name));
  }
}

}  // namespace

ElementwiseSpec guarded(ElementwiseSpec spec, const TypeInfo& in_type) {
  check(spec, in_type);
  ElementwiseSpec outer = spec;
  outer.guard = {};
  outer.kernel = &guarded_kernel;
  std::shared_ptr<const Guarded> shared(new Guarded{std::move(spec), in_type});
  outer.function = std::make_shared<const std::shared_ptr<const Guarded>>(std::move(shared));
  return outer;
}

}  // namespace infeed::detail
