#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infeed/error.h>

/// Why: every replica takes its input from its own bounded queue, as on a TPU host, where the
/// infeed of each core has a fixed number of buffers. A replica always gets the same part of the
/// stream: item i goes to replica i mod n, whichever is faster.
///
///     infeed::InfeedQueues<infeed::DeviceBatch> queues({.replicas = 8, .depth = 2});
///     queues.push_step(infeed::split_over_replicas(batch, 8));   // feeder thread; false: closed
///     std::vector<infeed::DeviceBatch> step;
///     while (queues.pop_step(step)) ...                  // device thread; false: the end
///
/// Why not one oneTBB queue a replica: the eight of a host would wake the device up eight times. A
/// hand-over beside work of 20 us a step costs 1.3 us for 8 replicas and 2.5 us for 32; with
/// oneTBB's queues 2.1 and 7.2 us (benchmarks/queue_benchmark.cc).
///
/// Concurrency invariants (one mutex guards everything; a hand-off costs a kernel wake-up of about
/// 20 us, so one wake-up hands over a whole step):
/// - one feeder: push and push_step are called by one thread at a time, pops by any number;
/// - 0 <= size(r) <= depth for every r, and the items of r leave in the order in which they came;
/// - items pushed before close() can still be popped; after that pops report the end;
/// - items pushed before fail(e) can still be popped; after that pops throw e;
/// - after abort(e) nothing can be popped: every blocked and every later push or pop throws e.
///   The first abort wins, and it wins over close(). abort() destroys the items that are left;
/// - no item is destroyed, moved out of or looked at by two threads: items leave under the mutex.
namespace infeed {

enum class InfeedFeed {
  /// A thread for each host fetches ahead into the queues, as on a TPU host.
  ahead,
  /// The next batch is fetched when the step has ended: a training loop without any overlap.
  on_demand,
};

struct InfeedQueueOptions {
  std::int32_t replicas = 1;
  std::int32_t depth = 2;  ///< items in each replica's queue
};

template <typename T>
class InfeedQueues {
 public:
  explicit InfeedQueues(InfeedQueueOptions options) : options_(options) {
    if (options.replicas <= 0 || options.depth <= 0) {
      throw Error(ErrorCode::invalid_argument,
                  "infeed queues need at least 1 replica and a depth of 1; got " +
                      std::to_string(options.replicas) + " and " + std::to_string(options.depth));
    }
    queues_.resize(static_cast<std::size_t>(options.replicas));
  }

  /// Gives the item to the next replica of the round. Blocks while its queue is full. Returns
  /// false, and drops the item, if the queues were closed.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    std::deque<T>& queue = queues_[next_];
    if (!wait_for_room(lock, [&] { return has_room(queue); })) return false;
    queue.push_back(std::move(item));
    next_ = (next_ + 1) % queues_.size();
    filled_.notify_all();
    return true;
  }

  /// Gives one item to every replica, from 0 on, in one hand-off. Blocks until all have room.
  bool push_step(std::vector<T> items) {
    std::unique_lock lock(mutex_);
    if (items.size() != queues_.size() || next_ != 0) {
      throw Error(ErrorCode::invalid_argument,
                  "push_step got " + std::to_string(items.size()) + " items for " +
                      std::to_string(queues_.size()) + " replicas, with " + std::to_string(next_) +
                      " already served this round; give one each, at the start of a round");
    }
    if (!wait_for_room(lock, [&] {
          return std::all_of(queues_.begin(), queues_.end(),
                             [&](const auto& queue) { return has_room(queue); });
        })) {
      return false;
    }
    for (std::size_t r = 0; r < queues_.size(); ++r) queues_[r].push_back(std::move(items[r]));
    filled_.notify_all();
    return true;
  }

  /// Returns the next item of `replica`, or nothing at the end.
  std::optional<T> pop(std::int32_t replica) {
    std::unique_lock lock(mutex_);
    std::deque<T>& queue = queues_.at(static_cast<std::size_t>(replica));
    if (!wait_for_items(lock, [&] { return !queue.empty(); })) return std::nullopt;
    std::optional<T> item(std::move(queue.front()));
    queue.pop_front();
    drained_.notify_one();
    return item;
  }

  /// Takes the next item of every replica, in replica order. Returns false at the end: when some
  /// replica gets nothing more, the incomplete round is dropped.
  bool pop_step(std::vector<T>& items) {
    items.clear();
    std::unique_lock lock(mutex_);
    if (!wait_for_items(lock, [&] { return all_filled(); })) return false;
    for (std::deque<T>& queue : queues_) {
      items.push_back(std::move(queue.front()));
      queue.pop_front();
    }
    drained_.notify_one();
    return true;
  }

  /// Ends the data. Wakes everyone.
  void close() { fail(nullptr); }

  /// Ends the data with this error.
  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!closed_ && !aborted_) error_ = std::move(error);
    closed_ = true;
    wake_all();
  }

  /// Wakes everyone with `error`, and drops what is queued.
  void abort(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (aborted_) return;
    aborted_ = true;
    error_ = error ? std::move(error)
                   : std::make_exception_ptr(Error(ErrorCode::cancelled, "infeed queues aborted"));
    for (std::deque<T>& queue : queues_) queue.clear();  // takes no memory: destructors abort, too
    wake_all();
  }

  std::int32_t depth() const { return options_.depth; }
  std::int32_t replicas() const { return options_.replicas; }
  /// Items waiting for `replica`.
  std::size_t size(std::int32_t replica) const {
    const std::lock_guard lock(mutex_);
    return queues_.at(static_cast<std::size_t>(replica)).size();
  }

 private:
  bool has_room(const std::deque<T>& queue) const {
    return queue.size() < static_cast<std::size_t>(options_.depth);
  }
  bool all_filled() const {
    return std::none_of(queues_.begin(), queues_.end(), [](const auto& q) { return q.empty(); });
  }
  template <typename HasRoom>
  bool wait_for_room(std::unique_lock<std::mutex>& lock, HasRoom room) {
    drained_.wait(lock, [&] { return aborted_ || closed_ || room(); });
    if (aborted_) std::rethrow_exception(error_);
    return !closed_;
  }
  template <typename HasItems>
  bool wait_for_items(std::unique_lock<std::mutex>& lock, HasItems has_items) {
    filled_.wait(lock, [&] { return aborted_ || closed_ || has_items(); });
    if (aborted_ || (error_ && !has_items())) std::rethrow_exception(error_);
    return has_items();
  }
  void wake_all() {
    filled_.notify_all();
    drained_.notify_all();
  }

  const InfeedQueueOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable filled_;   ///< poppers wait here
  std::condition_variable drained_;  ///< the feeder waits here
  std::vector<std::deque<T>> queues_;
  std::size_t next_ = 0;
  bool closed_ = false;
  bool aborted_ = false;
  std::exception_ptr error_;
};

}  // namespace infeed
