#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include <infeed/pipeline/detail/iterator_core.h>
#include <infeed/pipeline/iterate_options.h>
#include <infeed/pipeline/next_result.h>

/// Why: an iterator is one consumer's place in the stream.
///
///     auto iterator = dataset.iterate();
///     while (auto element = iterator.next()) use(*element);
///     for (auto& element : dataset.iterate()) use(element);  // the same
///
/// Errors: next() throws the infeed::Error that takes an element's place. The following call
/// continues after it. A range-for ends with the exception; a `while` around next() can go on:
///
///     while (true) {
///       try {
///         auto element = iterator.next();
///         if (!element) break;  // the end of the data, and of nothing else
///         use(*element);
///       } catch (const infeed::Error& error) {
///         if (error.is_terminal()) throw;  // every later call throws the same
///         log(error.what());
///       }
///     }
///
/// A terminal Error ends the stream: cancelled, deadline_exceeded by the watchdog, refused memory,
/// or a stage's own failure. checkpoint() then names the element that would have come next.
///
/// A host with an event loop asks without waiting when the descriptor is readable:
///
///     const int descriptor = iterator.ready_descriptor();  // for poll(), epoll, an event loop
///     while (auto next = iterator.try_next()) use(*next);  // whenever it is readable
///
/// Thread-safety: one thread at a time, except that cancel(), statistics(), tuning() and
/// set_memory_limit() may be called from any thread.
///
/// fork(): a Dataset may be iterated in a child process. An iterator's threads stay in the parent,
/// so its next() throws in the child, and its destructor releases nothing there.
namespace infeed {

template <class T>
class Iterator {
 public:
  /// Makes an empty iterator, to be assigned to. Only the destructor and has_stream() may be used.
  Iterator() = default;
  Iterator(NodePointer node, IterateOptions options)
      : core_(std::make_unique<detail::IteratorCore>(std::move(node), std::move(options))) {
    if (core_->order_hash() != nullptr && !detail::has_content<T>()) {
      throw Error(ErrorCode::invalid_argument,
                  "order_hash: the elements' type is none that can be hashed (order_hash.h); leave "
                  "it off, or map to an id and hash that");
    }
  }

  /// Returns the next element; empty at the end. Throws the error that takes the element's place.
  std::optional<T> next() {
    if (core().chunk().size() == 0 && !core().refill()) return std::nullopt;
    T* const element = static_cast<T*>(core().chunk().front());
    hash_order({element, 1});
    std::optional<T> result(std::move(*element));
    element->~T();
    core().took(1);
    return result;
  }

  /// Returns the next element if it is ready; never waits. The first call of try_next(), next_for()
  /// or ready_descriptor() starts a thread that works ahead like prefetch: by one element, or 4
  /// MiB of them. (With Executor::inline_() nothing works ahead, and the call is next().)
  NextResult<T> try_next() { return next_by({}, {}); }
  /// Waits for the next element until the time is over or a stop is requested. The iteration can go
  /// on afterwards, unlike after IterateOptions::stop.
  template <class Rep, class Period>
  NextResult<T> next_for(std::chrono::duration<Rep, Period> time,
                         const std::stop_token& stop = {}) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point now = Clock::now();
    // Floating point, because hours::max() has more nanoseconds than an integer holds.
    const std::chrono::duration<double> left = Clock::time_point::max() - now;
    if (std::chrono::duration<double>(time) >= left) return next(stop);
    if (time <= time.zero()) return try_next();
    return next_by(now + std::chrono::ceil<Clock::duration>(time), stop);
  }
  NextResult<T> next(const std::stop_token& stop) {
    return next_by(std::chrono::steady_clock::time_point::max(), stop);
  }
  /// Returns a descriptor for poll(), epoll or an event loop. It is readable when try_next() would
  /// find an element, an error or the end. It may also be readable when nothing is there, until
  /// try_next() has found nothing. The descriptor belongs to the iterator: don't read, write or
  /// close it.
  int ready_descriptor() { return core().ready_descriptor(); }

  /// Returns false for a default-constructed or moved-from iterator.
  bool has_stream() const { return core_ != nullptr; }

  /// Returns the next few elements in place, for loops that count nanoseconds; empty at the end.
  /// The span is valid until the next call. Then take() says how many elements were used.
  std::span<T> peek() {
    if (core().chunk().size() == 0 && !core().refill()) return {};
    return core().chunk().template values<T>();
  }
  /// Drops the first `count` elements of peek().
  void take(std::size_t count) {
    hash_order(core().chunk().template values<T>().first(count));
    core().chunk().type().destroy(core().chunk().front(), count);
    core().took(count);
  }

  /// Elements taken so far, errors and those before a resumed checkpoint included.
  std::uint64_t position() const { return core().position(); }
  /// Returns one number for all elements so far and their order. Throws failed_precondition without
  /// IterateOptions::order_hash.
  std::uint64_t order_hash() const {
    if (core().order_hash() != nullptr) return core().order_hash()->value();
    throw Error(ErrorCode::failed_precondition,
                "this iterator keeps no order_hash: begin it with iterate({.order_hash = true})");
  }
  /// Returns this place, for IterateOptions::resume later, in this or another process.
  Checkpoint checkpoint() const { return core().checkpoint(); }

  /// Ends the iteration from another thread: a waiting next() and every later call throw
  /// Error(cancelled). Up to 1,024 elements that this iterator already has come first. next()
  /// throws once running calls of user functions and running reads have returned, since a thread
  /// can't be ended from outside. cancel() and the destructor also wait for a function that hangs.
  /// So give the things it calls a time limit; IterateOptions::watchdog shows which function hangs.
  void cancel() { core().cancel(); }
  PipelineStatistics statistics() const { return core().statistics(); }
  /// Returns the tuner's settings and their reasons. From any thread.
  TuningReport tuning() const { return core().tuning(); }
  /// Stops the tuner from changing anything. From any thread.
  void freeze_tuning() { core().freeze_tuning(); }
  const MemoryAccount& memory() const { return core().memory(); }
  /// Returns whether the iteration records, to which file, and what went wrong.
  RecordingStatus recording() const { return core().recording(); }
  /// Writes a step that the caller has measured to the recording, if there is one. From the
  /// consumer's thread. A loop that measures nothing uses StepTimer.
  void record_step(const StepTimes& step) { core().record_step(step); }
  /// For StepTimer, rows_of() and read_ahead_until().
  detail::IteratorCore& core_for_timer() const { return core(); }
  /// Replaces IterateOptions::memory_bytes_max, from any thread; 0: no limit. Elements that are
  /// only kept ready beyond it aren't made again once they are taken. Throws
  /// Error(resource_exhausted), and keeps the old limit, if the memory that stages must hold
  /// doesn't fit.
  void set_memory_limit(std::uint64_t bytes) { core().set_memory_limit(bytes); }

  /// Input iterator for range-for. It moves through this Iterator itself.
  class Cursor {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    using reference = T&;
    using pointer = T*;

    Cursor() = default;
    explicit Cursor(Iterator* of) : of_(of) { ++*this; }
    T& operator*() const { return *of_->current_; }
    T* operator->() const { return &*of_->current_; }
    Cursor& operator++() {
      of_->current_.reset();
      of_->current_ = of_->next();
      if (!of_->current_) of_ = nullptr;
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Cursor& a, const Cursor& b) { return a.of_ == b.of_; }

   private:
    Iterator* of_ = nullptr;
  };
  Cursor begin() { return Cursor(this); }
  Cursor end() { return Cursor(); }

 private:
  void hash_order(std::span<const T> elements) {
    if constexpr (detail::has_content<T>()) {
      if (OrderHash* const hash = core().order_hash(); hash != nullptr) {
        for (const T& element : elements) detail::hash_content(*hash, element);
      }
    }
  }

  NextResult<T> next_by(std::chrono::steady_clock::time_point deadline,
                        const std::stop_token& stop) {
    if (!core().is_ready(deadline, stop)) return {};
    return NextResult<T>(next());
  }

  detail::IteratorCore& core() const {
    if (core_ == nullptr) detail::throw_no_stream();
    return *core_;
  }

  std::unique_ptr<detail::IteratorCore> core_;
  std::optional<T> current_ = std::nullopt;
};

/// Says that elements from `position` on won't be asked for soon, so that prefetch, parallel map and
/// try_next() don't make what nobody takes: at the end of an evaluation's ten batches, say. It may be
/// moved on at any time; an element behind it is made when it is asked for. Stages whose elements
/// can't be counted from here (filter, shuffle, interleave, and all before them) read ahead as ever.
template <class T>
void read_ahead_until(Iterator<T>& iterator, std::uint64_t position) {
  iterator.core_for_timer().read_ahead_until(position);
}

/// Returns where each row of the element at `position` came from: of one that was taken a short
/// while ago, as far as its stages can tell. An element that is no batch has one place. Needs
/// IterateOptions::trace.
template <class T>
std::vector<TracedPlace> rows_of(const Iterator<T>& iterator, std::uint64_t position) {
  return iterator.core_for_timer().rows_of(position);
}

}  // namespace infeed
