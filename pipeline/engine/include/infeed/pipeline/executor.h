#pragma once

#include <functional>
#include <memory>
#include <string_view>

/// Why: waiting happens on threads that a stage owns, work happens here, in one pool of as many
/// threads as there are cores to use. A task never waits for another task, so nested parallel
/// stages can't lock each other out.
///
/// Backends: threads (an iterator that is given no executor has one of its own, of usable_cores()),
/// tbb (a host's own TBB workers do the work), and inline_ (no thread at all: every stage runs in
/// the consumer's thread, which makes a failing run repeatable in a debugger). Results are the same
/// on all of them, and so is the speed of threads and tbb.
///
///     auto executor = infeed::Executor::threads(4);
///     for (auto& batch : dataset.iterate({.executor = executor})) ...
///
/// Thread-safety: an executor may serve any number of iterators at once.
namespace infeed {

/// TBB starts one worker fewer than there are cores, since it counts on its caller to work, too.
/// Ours waits, so a core stays idle.
enum class TbbWorkers {
  as_they_are,  ///< the process's limit is the host's to set
  one_more,     ///< raises that limit (tbb::global_control) while the executor lives
};

class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs the task soon, in some thread of the pool. The task must not throw.
  virtual void submit(std::function<void()> task) = 0;
  /// Tasks that can run at the same time; 0 for the inline backend.
  virtual int concurrency() const = 0;

  /// A `thread_count` of 0 means usable_cores().
  static std::shared_ptr<Executor> tbb(int thread_count = 0,
                                       TbbWorkers workers = TbbWorkers::as_they_are);
  /// The threads come as there is work for them, and end when there was none for a second, but for
  /// one. Each begins with `on_thread_start`, which is given its name and must not throw.
  static std::shared_ptr<Executor> threads(
      int thread_count = 0, std::function<void(std::string_view)> on_thread_start = {});
  static std::shared_ptr<Executor> inline_();
};

/// Cores this process may use: the least of its affinity mask and its cgroup's CPU quota (rounded
/// up), at least 1.
int usable_cores();

}  // namespace infeed
