#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedules/fiber.h"
#include "schedules/virtual_time.h"

/// Why: a lost wake-up or a deadlock shows in one of a million runs. Here a program of real threads
/// and locks (std::thread, std::mutex, std::condition_variable) runs under our own scheduler. It
/// chooses at each lock, wait, wake-up, start and end which thread goes on, so that a schedule can
/// be chosen and repeated, and all of them can be tried (explore.h).
///
/// While a run is under way, the calls of pthreads come here (intercepted_calls.cc). Threads of a
/// run are fibers of the thread that called run(), so no other thread acts between two such calls:
/// atomics change at once, and all see memory in one order.
namespace infeed::schedules {

/// A place with a choice.
struct Decision {
  enum class Kind { who_goes_on, who_is_woken };

  Kind kind = Kind::who_goes_on;
  /// The threads to choose from; the first one is the default: the running thread goes on, or the
  /// one behind it in turn; among waiting threads, the one that came first.
  std::vector<int> threads;
  std::size_t surprises = 0;  ///< number of threads, the last ones, that would wake for nothing
  std::size_t chosen = 0;
};

class Chooser {
 public:
  virtual ~Chooser() = default;
  /// An index into `decision.threads`.
  virtual std::size_t choose(const Decision& decision) = 0;
};

struct RunOptions {
  std::uint64_t steps_max = 20'000;
  std::uint64_t surprises_max =
      0;  ///< waits that end for nothing, or by their time while others run
  /// True: it is a finding if nobody can go on before a wait ends by its time, since another thread
  /// should have woken it.
  bool timeouts_are_findings = false;
  /// True: threads share only what locks guard. Then the steps right behind an unlock or a start
  /// can't be told from those before the next lock, and there are fewer schedules.
  bool locks_guard_all = false;
  std::int64_t clock_step_ns = 1000;
  bool threads_seem_to_wait = false;
  bool is_traced = false;
};

/// The outcome of one schedule.
struct RunResult {
  std::vector<Decision> decisions;
  std::optional<std::string> finding;  ///< deadlock, endless, an exception, a failed check
  std::uint64_t steps = 0;
  std::uint64_t timeouts = 0;  ///< waits that ended by their time, since no thread could go on
  std::vector<std::string> trace;
};

/// Runs `body` as thread 0, and all the threads that it starts. After a finding the remaining
/// threads are never continued.
RunResult run(const std::function<void()>& body, Chooser& chooser, const RunOptions& options);

/// Reports a finding, in a run, unless `holds`.
void check(bool holds, const std::string& what);

/// While it lives the thread goes on as long as it can, without choices: for the set-up of a model.
class Undisturbed {
 public:
  Undisturbed();
  ~Undisturbed();
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
};

/// The calls of one run: those of pthreads, in the words of this file.
class Scheduler {
 public:
  /// Returns null unless the caller is a thread of a run.
  static Scheduler* active();

  Scheduler(Chooser& chooser, const RunOptions& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  RunResult run(const std::function<void()>& body);

  struct Thread;

  void lock(const void* mutex);
  void unlock(const void* mutex);
  /// Returns false when the time ran out. A null `mutex` means a wait without one.
  bool wait(const void* place, const void* mutex, std::optional<std::int64_t> deadline_ns);
  /// Returns how many threads it woke.
  int wake(const void* place, int count_max);
  /// Makes a thread that goes on when it is chosen: at the caller's next step, which must be
  /// point().
  Thread* start(std::function<void()> routine);
  /// Lets others go on here, since the caller has shown its work by a lock or otherwise.
  void point() {
    if (!options_.locks_guard_all) decide(/*yields=*/false);
  }
  void join(Thread& thread);
  void yield();
  void sleep_until(std::int64_t deadline_ns);
  Thread& current() { return *current_; }
  void name_current(std::string name);
  VirtualTime& time() { return time_; }
  void set_undisturbed(bool undisturbed) { is_undisturbed_ = undisturbed; }
  [[noreturn]] void fail(std::string finding);

 private:
  static void thread_main();
  bool is_able(const Thread& thread) const;
  const Thread* owner_of(const void* mutex) const;
  void take(const void* mutex);
  void decide(bool yields);
  Decision options(bool yields) const;
  std::size_t choose(Decision decision);
  void pass_time();
  void surprise(Thread& thread);
  void switch_to(Thread& thread);
  void note(const std::string& event);
  std::string label(const void* object);
  std::string who_waits_for_what();

  Chooser& chooser_;
  const RunOptions options_;
  VirtualTime time_;
  RunResult result_;
  std::vector<std::unique_ptr<Thread>> threads_;
  Thread* current_ = nullptr;
  Fiber outside_;
  struct Held {
    const void* mutex;
    const Thread* owner;
  };
  std::vector<Held> held_;
  std::vector<const void*> known_;  ///< objects, in the order in which they were first seen
  bool is_undisturbed_ = false;
  std::uint64_t surprises_ = 0;
  std::uint64_t waits_begun_ = 0;
  std::uint64_t timeouts_in_a_row_ = 0;
};

}  // namespace infeed::schedules
