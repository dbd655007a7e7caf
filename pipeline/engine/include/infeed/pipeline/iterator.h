#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>

#include <infeed/pipeline/detail/iterator_core.h>
#include <infeed/pipeline/iterate_options.h>
#include <infeed/pipeline/next_result.h>

/// Why: an iterator is one consumer's place in the stream.
///
///     auto iterator = dataset.iterate();
///     while (auto element = iterator.next()) use(*element);
///     for (auto& element : dataset.iterate()) use(element);  // the same
///
/// Errors: next() throws the infeed::Error that stands in an element's place; the call after it
/// goes on behind it. A range-for ends with the exception; a `while` around next() can go on:
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
/// A terminal Error (cancelled, deadline_exceeded by the watchdog, memory that was refused, a
/// stage's own failure) ends the stream; checkpoint() then names the element that would have come.
///
/// A host with an event loop asks without waiting, when the descriptor is readable:
///
///     const int descriptor = iterator.ready_descriptor();  // for poll(), epoll, an event loop
///     while (auto next = iterator.try_next()) use(*next);  // whenever it is readable
///
/// Thread-safety: one thread at a time, but cancel(), statistics(), tuning() and
/// set_memory_limit() may be called from any.
/// fork(): a Dataset may be iterated in a child process. An iterator's threads stay in the parent,
/// so its next() throws in the child, and its destructor lets nothing go there.
namespace infeed {

template <class T>
class Iterator {
 public:
  /// No iterator yet, to be assigned to: only the destructor and has_stream() may be used.
  Iterator() = default;
  Iterator(NodePointer node, IterateOptions options)
      : core_(std::make_unique<detail::IteratorCore>(std::move(node), std::move(options))) {
    if (core_->order_hash() != nullptr && !detail::has_content<T>()) {
      throw Error(ErrorCode::invalid_argument,
                  "order_hash: the elements' type is none that can be hashed (order_hash.h); leave "
                  "it off, or map to an id and hash that");
    }
  }

  /// The next element; empty at the end. Throws the error that stands in its place.
  std::optional<T> next() {
    if (core().chunk().size() == 0 && !core().refill()) return std::nullopt;
    T* const element = static_cast<T*>(core().chunk().front());
    hash_order({element, 1});
    std::optional<T> result(std::move(*element));
    element->~T();
    core().took(1);
    return result;
  }

  /// The next element if it is there; never waits for one. From the first call of this, next_for()
  /// or ready_descriptor() on, a thread of the iterator works ahead as behind prefetch: for one
  /// element, or 64 KiB of them. (With Executor::inline_() nothing works ahead: it is next().)
  NextResult<T> try_next() { return next_by({}, {}); }
  /// Waits for it, but not longer than that, and only until a stop is requested. The iteration goes
  /// on afterwards, other than after IterateOptions::stop.
  template <class Rep, class Period>
  NextResult<T> next_for(std::chrono::duration<Rep, Period> time,
                         const std::stop_token& stop = {}) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point now = Clock::now();
    // In floating point, since hours::max() is more nanoseconds than there are numbers for.
    const std::chrono::duration<double> left = Clock::time_point::max() - now;
    if (std::chrono::duration<double>(time) >= left) return next(stop);
    if (time <= time.zero()) return try_next();
    return next_by(now + std::chrono::ceil<Clock::duration>(time), stop);
  }
  NextResult<T> next(const std::stop_token& stop) {
    return next_by(std::chrono::steady_clock::time_point::max(), stop);
  }
  /// A descriptor for poll(), epoll or an event loop: readable when try_next() would find an
  /// element, an error or the end. It may be readable when nothing is there, until try_next() found
  /// nothing. It is the iterator's own: don't read, write or close it.
  int ready_descriptor() { return core().ready_descriptor(); }

  /// False for a default-constructed or moved-from one.
  bool has_stream() const { return core_ != nullptr; }

  /// The next few elements where they lie, for loops that count nanoseconds; empty at the
  /// end. Valid until the next call; take() says how many of them were used.
  std::span<T> peek() {
    if (core().chunk().size() == 0 && !core().refill()) return {};
    return core().chunk().template values<T>();
  }
  /// Lets go the first `count` elements of peek().
  void take(std::size_t count) {
    hash_order(core().chunk().template values<T>().first(count));
    core().chunk().type().destroy(core().chunk().front(), count);
    core().took(count);
  }

  /// Elements taken so far, errors and those before a resumed checkpoint included.
  std::uint64_t position() const { return core().position(); }
  /// One number for all elements so far and their order; needs IterateOptions::order_hash.
  std::uint64_t order_hash() const {
    return core().order_hash() == nullptr ? 0 : core().order_hash()->value();
  }
  /// This place, to be handed to IterateOptions::resume later, in this or another process.
  Checkpoint checkpoint() const { return core().checkpoint(); }

  /// Ends the iteration from another thread: a waiting next() throws Error(cancelled), as does
  /// every later call (behind the up to 1,024 elements that were already handed to this iterator),
  /// once the calls of user functions and the reads that are under way have returned: a thread
  /// can't be ended from outside. cancel() and the destructor wait for a function that hangs, too:
  /// give what it calls a time limit, and see IterateOptions::watchdog for which one it is.
  void cancel() { core().cancel(); }
  PipelineStatistics statistics() const { return core().statistics(); }
  /// What the tuner has set and why; from any thread.
  TuningReport tuning() const { return core().tuning(); }
  /// From now on the tuner changes nothing; from any thread.
  void freeze_tuning() { core().freeze_tuning(); }
  const MemoryAccount& memory() const { return core().memory(); }
  /// Whether it records, where to, and what went wrong.
  RecordingStatus recording() const { return core().recording(); }
  /// A step that the caller has measured, for the recording; nothing where there is none. The
  /// consumer's thread. A loop that measures nothing has StepTimer.
  void record_step(const StepTimes& step) { core().record_step(step); }
  /// For StepTimer.
  detail::IteratorCore& core_for_timer() { return core(); }
  /// Another IterateOptions::memory_bytes_max from now on, from any thread; 0: none. What is only
  /// kept ready beyond it isn't made again once it is taken. Throws Error(resource_exhausted), and
  /// leaves the limit, where what stages must hold has no room in it.
  void set_memory_limit(std::uint64_t bytes) { core().set_memory_limit(bytes); }

  /// Input iterator for range-for; it moves through this Iterator itself.
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

}  // namespace infeed
