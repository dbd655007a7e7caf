#pragma once

#include <functional>
#include <memory>

/// Why: waiting happens on threads that a stage owns, work happens here, in one pool of as many
/// threads as there are cores to use. A task never waits for another task, so nested parallel
/// stages can't lock each other out.
///
/// Backends: tbb (the default: one arena), threads (plain std::thread, for ThreadSanitizer, which
/// misreads TBB), and inline_ (no thread at all: every stage runs in the consumer's thread, which
/// makes a failing run repeatable in a debugger). Results are the same on all of them.
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
  /// Tasks that can run at the same time; 0 for the inline backend.
  virtual int concurrency() const = 0;

  /// A `thread_count` of 0 means usable_cores().
  static std::shared_ptr<Executor> tbb(int thread_count = 0);
  static std::shared_ptr<Executor> threads(int thread_count = 0);
  static std::shared_ptr<Executor> inline_();
  /// What an iterator uses that is given none: tbb(), but threads() in a build with
  /// ThreadSanitizer.
  static std::shared_ptr<Executor> make_default();
};

/// Cores this process may use: the least of its affinity mask and its cgroup's CPU quota (rounded
/// up), at least 1.
int usable_cores();

}  // namespace infeed
