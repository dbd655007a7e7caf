#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>

#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/order_hash.h>
#include <infeed/pipeline/executor.h>
#include <infeed/pipeline/memory_account.h>
#include <infeed/pipeline/stage.h>
#include <infeed/pipeline/statistics.h>

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
/// Thread-safety: one thread at a time, but cancel() and statistics() may be called from any.
namespace infeed {

/// How far a resume has come that can't seek and has to look at the elements again.
struct ResumeProgress {
  std::uint64_t position;           ///< of the checkpoint: elements of the pipeline's end
  std::uint64_t elements_replayed;  ///< by the stage that handed over most of them
  std::chrono::milliseconds elapsed;
};

struct IterateOptions {
  /// The hard limit for all buffers together; 0 means none. A limit that can't suffice is refused
  /// before the start. What the C library keeps of freed elements comes on top: with elements of
  /// about 1 KB glibc's arenas took 90 to 150 MB for 77, and 84 with MALLOC_ARENA_MAX=1 in the
  /// environment.
  std::uint64_t memory_bytes_max = 0;
  /// Go on where this checkpoint was taken; refused when it belongs to another pipeline.
  std::optional<Checkpoint> resume = std::nullopt;
  /// If null, the iterator has a TBB executor of its own.
  std::shared_ptr<Executor> executor = nullptr;
  /// Which iteration of the dataset this is (it keys shuffles); by default they are counted.
  std::optional<std::uint64_t> epoch = std::nullopt;
  /// When nothing has moved for this long while the consumer waits or resumes, next() or iterate()
  /// throws Error(deadline_exceeded) that says who waits for whom; 0: never.
  std::chrono::milliseconds watchdog{0};
  /// Ends the iteration as cancel() does; during a resume iterate() then throws Error(cancelled).
  std::stop_token stop = {};
  /// It is called every so often while a resume is under way, in a thread of its own, and must not
  /// throw.
  std::function<void(const ResumeProgress&)> on_resume = {};
  std::chrono::milliseconds on_resume_every{1000};  ///< at least 1 ms
  /// Keep Iterator::order_hash(); costs about 1 ns a number or 8 bytes.
  bool order_hash = false;
};

namespace detail {

class Watchdog;

std::uint64_t next_epoch(std::atomic<std::uint64_t>& iterations, const IterateOptions& options);

/// The untyped part of an iterator.
class IteratorCore {
 public:
  IteratorCore(NodePointer node, IterateOptions options);
  ~IteratorCore();

  /// Makes the chunk hold the next elements; false at the end. Throws the error that is next.
  bool refill();

  Chunk& chunk() { return chunk_; }
  /// `count` elements of the chunk were taken.
  void took(std::size_t count) {
    chunk_.drop_front(count);
    position_ += count;
  }
  std::uint64_t position() const { return position_; }
  /// Null unless the order is hashed.
  OrderHash* order_hash() { return hashes_order_ ? &order_hash_ : nullptr; }
  Checkpoint checkpoint() const;
  void cancel();
  PipelineStatistics statistics() const;
  const MemoryAccount& memory() const;

 private:
  void resume(const IterateOptions& options);
  Pull pull_root();
  ErrorPointer cancellation(std::string_view when) const;
  [[noreturn]] void fail(const ErrorPointer& error);
  void end_stages();

  NodePointer node_;
  std::shared_ptr<IteratorContext> run_;
  std::uint64_t epoch_;
  std::uint64_t position_ = 0;
  std::uint64_t errors_before_ = 0;
  bool ended_ = false;
  ErrorPointer failure_;  ///< terminal
  const bool hashes_order_;
  OrderHash order_hash_;
  Chunk chunk_;
  std::unique_ptr<Stage> root_;
  std::unique_ptr<Watchdog> watchdog_;  ///< null unless it was asked for
  std::optional<std::stop_callback<std::function<void()>>> stop_;
};

}  // namespace detail

template <class T>
class Iterator {
 public:
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
    if (core_->chunk().size() == 0 && !core_->refill()) return std::nullopt;
    T* const element = static_cast<T*>(core_->chunk().front());
    hash_order({element, 1});
    std::optional<T> result(std::move(*element));
    element->~T();
    core_->took(1);
    return result;
  }

  /// The next few elements where they lie, for loops that count nanoseconds; empty at the
  /// end. Valid until the next call; take() says how many of them were used.
  std::span<T> peek() {
    if (core_->chunk().size() == 0 && !core_->refill()) return {};
    return core_->chunk().template values<T>();
  }
  /// Lets go the first `count` elements of peek().
  void take(std::size_t count) {
    hash_order(core_->chunk().template values<T>().first(count));
    core_->chunk().type().destroy(core_->chunk().front(), count);
    core_->took(count);
  }

  /// Elements taken so far, errors and those before a resumed checkpoint included.
  std::uint64_t position() const { return core_->position(); }
  /// One number for all elements so far and their order; needs IterateOptions::order_hash.
  std::uint64_t order_hash() const {
    return core_->order_hash() == nullptr ? 0 : core_->order_hash()->value();
  }
  /// This place, to be handed to IterateOptions::resume later, in this or another process.
  Checkpoint checkpoint() const { return core_->checkpoint(); }

  /// Ends the iteration from another thread: a waiting next() throws Error(cancelled), as does
  /// every later call (behind the up to 256 elements that were already handed to this iterator),
  /// once the calls of user functions and the reads that are under way have returned: a thread
  /// can't be ended from outside. A function that may hang is given up where map's {.guard =
  /// {.time_limit = ...}} is set; without it cancel() and the destructor wait for it.
  void cancel() { core_->cancel(); }
  PipelineStatistics statistics() const { return core_->statistics(); }
  const MemoryAccount& memory() const { return core_->memory(); }

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
      if (OrderHash* const hash = core_->order_hash(); hash != nullptr) {
        for (const T& element : elements) detail::hash_content(*hash, element);
      }
    }
  }

  std::unique_ptr<detail::IteratorCore> core_;
  std::optional<T> current_ = std::nullopt;
};

}  // namespace infeed
