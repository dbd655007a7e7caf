#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedules/fiber.h"
#include "schedules/virtual_time.h"

/// Why: a lost wake-up or a deadlock shows in one of a million runs. Here a program of real threads and
/// locks (std::thread, std::mutex, std::condition_variable) runs under a scheduler of our own, which says
/// at each lock, wait, wake-up, start and end who goes on, so that a schedule can be chosen,
/// repeated, and all of them tried (explore.h).
///
/// The calls of pthreads come here (intercepted_calls.cc) while a run is under way. Threads of a run are
/// fibers of the one that called run(), so between two such calls nobody else does anything:
/// what happens to atomics there happens at once, and all see memory in one order.
namespace infeed::schedules {

/// Where there was something to choose.
struct Decision {
  enum class Kind { who_goes_on, who_is_woken };

  Kind kind = Kind::who_goes_on;
  /// The threads to choose from; the first one is what happens by default: the running thread goes on,
  /// or the one behind it in turn; of those that wait, the one that came first.
  std::vector<int> threads;
  std::size_t surprises = 0;  ///< so many of them, the last ones, are woken for nothing
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
  /// It is a finding where nobody can go on before a wait ends by its time: whoever is waited for should have
  /// woken it.
  bool timeouts_are_findings = false;
  /// Threads share nothing but what locks guard: then nobody can tell what happens right behind an unlock
  /// or a start from what happens before the next lock, and there are fewer schedules.
  bool locks_guard_all = false;
  std::int64_t clock_step_ns = 1000;
  bool threads_seem_to_wait = false;
  bool is_traced = false;
};

/// The outcome of one schedule.
struct RunResult {
  std::vector<Decision> decisions;
  std::optional<std::string> finding;  ///< deadlock, endless, what was thrown, a check that failed
  std::uint64_t steps = 0;
  std::uint64_t timeouts = 0;  ///< waits that ended by their time, since nobody else could go on
  std::vector<std::string> trace;
};

/// Runs `body` as thread 0, and all the threads that it starts. Where there is a finding, what is left
/// of them is never gone on with.
RunResult run(const std::function<void()>& body, Chooser& chooser, const RunOptions& options);

/// In a run: a finding unless it holds.
void check(bool holds, const std::string& what);

/// While it lives the thread goes on as long as it can, without choices: for what a model must set up.
class Undisturbed {
 public:
  Undisturbed();
  ~Undisturbed();
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
};

/// Calls of one run; those of pthreads, in the words of this file.
class Scheduler {
 public:
  /// Null unless the caller is a thread of a run.
  static Scheduler* active();

  Scheduler(Chooser& chooser, const RunOptions& options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  RunResult run(const std::function<void()>& body);

  struct Thread;

  void lock(const void* mutex);
  void unlock(const void* mutex);
  /// False when the time ran out. Without a mutex where `mutex` is null.
  bool wait(const void* place, const void* mutex, std::optional<std::int64_t> deadline_ns);
  /// Returns how many it woke.
  int wake(const void* place, int count_max);
  /// Makes one that goes on when it is chosen: at the caller's next step, which is to be point().
  Thread* start(std::function<void()> routine);
  /// Others may go on here, as the caller shows what it did by a lock or otherwise.
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
  std::vector<const void*> known_;  ///< objects, in the order in which they were seen first
  bool is_undisturbed_ = false;
  std::uint64_t surprises_ = 0;
  std::uint64_t waits_begun_ = 0;
  std::uint64_t timeouts_in_a_row_ = 0;
};

}  // namespace infeed::schedules
