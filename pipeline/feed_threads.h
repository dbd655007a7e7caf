#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "interleave_cycle.h"
#include "run_context.h"

namespace infeed::detail {

/// An inner dataset that threads read ahead. All is guarded by the mutex of FeedThreads, but for
/// the stream, which belongs to the thread that is `busy` with it.
struct SharedFeed final : InnerFeed {
  SharedFeed(MemoryAccount& memory, InnerStream opened)
      : InnerFeed(std::move(opened)), account(memory) {}
  ~SharedFeed() override { account.release_elastic(reserved_bytes); }

  MemoryAccount& account;
  std::deque<Chunk> ready;
  std::uint64_t ready_elements = 0;
  std::uint64_t ready_bytes = 0;
  std::uint64_t reserved_bytes = 0;  ///< in the account, for `ready`
  std::size_t slot = 0;              ///< in the cycle, once it is there
  ErrorPointer error;                ///< why there is no inner dataset
  bool opening = false;
  bool busy = false;
  bool ended = false;
};

struct FeedThreadsOptions {
  std::uint64_t cycle_length;
  int threads;
  bool ordered;
};

/// The threads of a parallel interleave: they take outer elements one after another, open their
/// inner datasets side by side and read all that are open ahead, first what the consumer waits for,
/// then what has nothing ready, in the order of its need.
///
/// Invariants: a feed is read by one thread at a time (`busy`), the outer input too (outer_busy_).
/// pending_ holds the inner datasets that no slot has taken yet, in the order of their outer
/// elements. A thread never waits for room in one feed: it looks for another one, so the feed that
/// the consumer waits for always gets a thread as soon as one comes back from a read. Memory is
/// reserved before a read; when there is none, only that feed is read, one element at a time, so a
/// small limit slows down and never locks up. Stages are opened and closed without the mutex, since
/// they may register with the run, whose cancel() calls stop().
class FeedThreads final : public InnerSupplier {
 public:
  FeedThreads(RunContext& run, StageCounters& counters, const TypeInfo& type,
              const TypeInfo& outer_type, OuterInput& outer, const InnerOpener& opener,
              const FeedThreadsOptions& options);
  ~FeedThreads() override;
  FeedThreads(const FeedThreads&) = delete;
  FeedThreads& operator=(const FeedThreads&) = delete;

  /// Takes over a feed that was opened before the start.
  std::unique_ptr<InnerFeed> adopt(std::size_t slot, std::unique_ptr<InnerFeed> feed);
  void start();
  bool started() const { return !threads_.empty(); }
  void stop();

  Supply open(std::size_t slot, std::unique_ptr<InnerFeed>& feed, ErrorPointer& error) override;
  Supply refill(InnerFeed& feed, Chunk& out) override;
  Pull wait() override;

 private:
  struct Task {
    bool take_outer = false;
    SharedFeed* feed = nullptr;
    explicit operator bool() const { return take_outer || feed != nullptr; }
  };
  /// What a read may bring.
  struct Grant {
    std::size_t want;
    std::uint64_t reserved_bytes;
  };

  void work();
  Task choose() const;
  SharedFeed* first_feed(bool only_empty) const;
  bool may_take_outer() const;
  bool is_wanted(const SharedFeed& feed) const;
  bool others_come_first(const SharedFeed& feed) const;
  void take_outer(std::unique_lock<std::mutex>& lock, Chunk& element);
  void read(std::unique_lock<std::mutex>& lock, SharedFeed& feed);
  Grant reserve(const SharedFeed& feed);
  void publish(SharedFeed& feed, Chunk& chunk, std::uint64_t bytes, const Grant& grant);
  void place(std::size_t slot, SharedFeed& feed);
  void take_chunk(SharedFeed& feed, Chunk& out);
  void wake_worker();
  void wake_consumer();
  void publish_level();

  RunContext& run_;
  StageCounters& counters_;
  const TypeInfo& type_;
  const TypeInfo& outer_type_;
  OuterInput& outer_;
  const InnerOpener& opener_;
  const FeedThreadsOptions options_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable ready_;
  std::vector<SharedFeed*> cycle_;  ///< by slot; null where none is open
  std::deque<std::unique_ptr<SharedFeed>> pending_;
  std::vector<Chunk> spare_;
  std::vector<std::thread> threads_;
  std::size_t open_in_cycle_ = 0;
  std::size_t turn_ = 0;  ///< the slot that the consumer was at last
  std::uint64_t elements_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_per_element_ = 0;  ///< smoothed; 0: none has been seen
  SharedFeed* wanted_ = nullptr;         ///< the consumer waits for it ...
  bool gathers_ = false;                 ///< ... and would rather have a heap than one chunk
  bool wants_open_ = false;              ///< it waits for the next inner dataset
  bool wants_any_ = false;               ///< it waits for anything
  bool open_was_refused_ = false;        ///< a slot is empty because nothing was open yet
  bool memory_short_ = false;
  bool outer_busy_ = false;
  bool outer_ended_ = false;
  bool stopped_ = false;
  bool worker_wakes_ = false;
  int idle_ = 0;
  std::exception_ptr outer_failure_;  ///< thrown by the outer input itself; told at its end
  std::exception_ptr broken_;         ///< a thread's own failure; told at once
};

}  // namespace infeed::detail
