#pragma once

#include <functional>
#include <memory>
#include <string_view>

/// Why: waiting happens on threads that a stage owns, computing happens here, in one pool with as
/// many threads as there are usable cores. A task never waits for another task, so nested parallel
/// stages can't block each other.
///
/// There are three backends. threads has its own threads; an iterator without a given executor has
/// one of usable_cores(). tbb uses the host's TBB workers. inline_ has no threads: every stage runs
/// in the consumer's thread, which makes a failing run repeatable in a debugger. All give the same
/// results. threads and tbb are equally fast.
///
///     auto executor = infeed::Executor::threads(4);
///     for (auto& batch : dataset.iterate({.executor = executor})) ...
///
/// Thread-safety: an executor may serve any number of iterators at once.
namespace infeed {

/// Says who adds the worker that TBB leaves out. TBB starts one worker fewer than there are cores,
/// since it expects its caller to work. The consumer here waits, so one core stays idle.
enum class TbbWorkers {
  as_they_are,  ///< leaves the process's limit to the host
  one_more,     ///< raises that limit (tbb::global_control) while the executor lives
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs the task soon, in some thread of the pool. The task must not throw.
  virtual void submit(std::function<void()> task) = 0;
  /// Returns how many tasks can run at the same time; 0 for the inline backend.
  virtual int concurrency() const = 0;

  /// Uses the host's TBB workers. A `thread_count` of 0 means usable_cores().
  static std::shared_ptr<Executor> tbb(int thread_count = 0,
                                       TbbWorkers workers = TbbWorkers::as_they_are);
  /// Starts threads as work comes. A thread ends when there was no work for a second; one thread
  /// stays. Each thread first calls `on_thread_start` with its name; the function must not throw.
  static std::shared_ptr<Executor> threads(
      int thread_count = 0, std::function<void(std::string_view)> on_thread_start = {});
  static std::shared_ptr<Executor> inline_();
};

/// Returns the number of cores that this process may use: the smaller of its affinity mask and its
/// cgroup's CPU quota (rounded up), at least 1.
int usable_cores();

}  // namespace infeed
