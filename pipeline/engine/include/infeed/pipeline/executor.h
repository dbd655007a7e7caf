#pragma once

#include <functional>
#include <memory>
#include <string_view>

/// Why: waiting happens on threads that a stage owns, computing happens here, in one pool with as
/// many threads as there are usable cores. A task never waits for another task, so nested parallel
/// stages can't block each other.
///
/// There are three backends, which give the same results. tbb uses oneTBB's workers, which the
/// process has once, and one thread of its own; an iterator without a given executor has one of
/// usable_cores(). So a program that uses oneTBB itself doesn't compute on twice as many threads as
/// it has cores. threads has its own threads only: for ThreadSanitizer, which doesn't understand how
/// oneTBB synchronises, and under which it is the default. inline_ has no threads: every stage runs
/// in the consumer's thread, which makes a failing run repeatable in a debugger.
///
///     auto executor = infeed::Executor::threads(4);
///     for (auto& batch : dataset.iterate({.executor = executor})) ...
///
/// Thread-safety: an executor may serve any number of iterators at once.
namespace infeed {

class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs the task soon, in some thread of the pool. The task must not throw.
  virtual void submit(std::function<void()> task) = 0;
  /// Returns how many tasks can run at the same time; 0 for the inline backend.
  virtual int concurrency() const = 0;

  /// Takes oneTBB's workers, which are one fewer than the cores, and a thread of its own, so that all
  /// cores work; no limit of the process is changed. A `thread_count` of 0 means usable_cores(). Each
  /// thread first calls `on_thread_start` with its name ("worker", "tbb worker"); the function must
  /// not throw.
  static std::shared_ptr<Executor> tbb(int thread_count = 0,
                                       std::function<void(std::string_view)> on_thread_start = {});
  /// Starts threads as work comes. A thread ends when there was no work for a second; one thread
  /// stays.
  static std::shared_ptr<Executor> threads(
      int thread_count = 0, std::function<void(std::string_view)> on_thread_start = {});
  static std::shared_ptr<Executor> inline_();
};

/// Returns the number of cores that this process may use: the smaller of its affinity mask and its
/// cgroup's CPU quota (rounded up), at least 1.
int usable_cores();

}  // namespace infeed
