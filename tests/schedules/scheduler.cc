#include "schedules/scheduler.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fmt/format.h>
#include <sys/single_threaded.h>
#include <utility>

namespace infeed::schedules {
namespace {

// Nothing happens any more, except that waits end by their time.
constexpr std::uint64_t kTimeoutsInARowMax = 200;

Scheduler* running = nullptr;
// The system may have threads beside the run's; each has its own errno.
const int* system_thread = nullptr;

[[noreturn]] void terminate_run() {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) std::abort();
  std::string what = "std::terminate()";
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    what += std::string(": ") + error.what();
  } catch (...) {
  }
  scheduler->fail(what);
}

}  // namespace

struct Scheduler::Thread {
  Thread(int its_id, std::function<void()> its_routine)
      : id(its_id), routine(std::move(its_routine)), fiber(&Scheduler::thread_main) {}

  const int id;
  std::string name;
  std::function<void()> routine;
  bool has_ended = false;
  // The object that it waits for, if any:
  const void* place = nullptr;     ///< a wake-up
  const void* mutex = nullptr;     ///< the lock, to hold it
  const Thread* joined = nullptr;  ///< the end of this thread
  std::optional<std::int64_t> deadline_ns;
  bool ran_out = false;           ///< the last wait ended by its time
  std::uint64_t waits_since = 0;  ///< the order of the waiting threads
  Fiber fiber;
};

Scheduler* Scheduler::active() {
  return running != nullptr && system_thread == &errno ? running : nullptr;
}

Scheduler::Scheduler(Chooser& chooser, const RunOptions& options)
    : chooser_(chooser),
      options_(options),
      time_{.step_ns = options.clock_step_ns,
            .threads_seem_to_wait = options.threads_seem_to_wait} {}

Scheduler::~Scheduler() = default;

RunResult Scheduler::run(const std::function<void()>& body) {
  // The C++ library leaves out what a single thread doesn't need, and sees only one.
  __libc_single_threaded = 0;
  running = this;
  system_thread = &errno;
  const auto former_terminate = std::set_terminate(&terminate_run);
  {
    const CounterShows counter(time_);
    threads_.push_back(std::make_unique<Thread>(0, body));
    current_ = threads_.front().get();
    outside_.switch_to(current_->fiber);
  }
  std::set_terminate(former_terminate);
  running = nullptr;
  for (const auto& thread : threads_) {
    if (thread->has_ended) continue;
    thread->fiber.abandon();
    // Abandoned threads may use the objects that they were given.
    (void)new std::function<void()>(std::move(thread->routine));
  }
  return std::move(result_);
}

void Scheduler::thread_main() {
  Scheduler& scheduler = *running;
  Thread& self = *scheduler.current_;
  try {
    self.routine();
    self.routine = nullptr;
  } catch (const std::exception& error) {
    scheduler.fail(fmt::format("{} threw: {}", scheduler.label(&self), error.what()));
  }
  self.has_ended = true;
  scheduler.note("ends");
  scheduler.decide(/*yields=*/false);
  std::abort();  // it is never continued
}

void Scheduler::fail(std::string finding) {
  result_.finding = std::move(finding);
  current_->fiber.switch_to(outside_);
  std::abort();
}

bool Scheduler::is_able(const Thread& thread) const {
  if (thread.has_ended || thread.place != nullptr) return false;
  if (thread.joined != nullptr) return thread.joined->has_ended;
  return thread.mutex == nullptr || owner_of(thread.mutex) == nullptr;
}

const Scheduler::Thread* Scheduler::owner_of(const void* mutex) const {
  const auto found = std::ranges::find(held_, mutex, &Held::mutex);
  return found == held_.end() ? nullptr : found->owner;
}

/// Returns the threads that could go on now: the running thread first, then the others in turn.
Decision Scheduler::options(bool yields) const {
  Decision decision;
  if (!yields && is_able(*current_)) decision.threads.push_back(current_->id);
  for (std::size_t i = 1; i <= threads_.size(); ++i) {
    const Thread& thread =
        *threads_[(static_cast<std::size_t>(current_->id) + i) % threads_.size()];
    if ((&thread != current_ || yields) && is_able(thread)) decision.threads.push_back(thread.id);
  }
  if (decision.threads.empty() || surprises_ == options_.surprises_max) return decision;
  for (const auto& thread : threads_) {
    if (thread->place == nullptr) continue;
    decision.threads.push_back(thread->id);
    ++decision.surprises;
  }
  return decision;
}

std::size_t Scheduler::choose(Decision decision) {
  if (decision.threads.size() == 1) return 0;
  decision.chosen = std::min(chooser_.choose(decision), decision.threads.size() - 1);
  result_.decisions.push_back(std::move(decision));
  return result_.decisions.back().chosen;
}

/// Lets a thread go on; returns when the caller's turn has come again, which may be at once.
void Scheduler::decide(bool yields) {
  if (++result_.steps > options_.steps_max) {
    fail(fmt::format("goes on for more than {} steps\n{}", options_.steps_max,
                     who_waits_for_what()));
  }
  if (is_undisturbed_ && is_able(*current_)) return;
  while (true) {
    const Decision decision = options(yields);
    if (decision.threads.empty()) {
      pass_time();
      continue;
    }
    const std::size_t chosen = choose(decision);
    Thread& thread = *threads_[static_cast<std::size_t>(decision.threads[chosen])];
    if (chosen >= decision.threads.size() - decision.surprises) {
      surprise(thread);
      continue;
    }
    return switch_to(thread);
  }
}

void Scheduler::switch_to(Thread& thread) {
  if (&thread == current_) return;
  Thread& self = *current_;
  current_ = &thread;
  self.fiber.switch_to(thread.fiber);
}

/// No thread can go on: the one whose time comes first wakes up. The run ends if none is left.
void Scheduler::pass_time() {
  Thread* first = nullptr;
  bool has_any = false;
  for (const auto& thread : threads_) {
    has_any = has_any || !thread->has_ended;
    if (thread->place == nullptr || !thread->deadline_ns) continue;
    if (first == nullptr || *thread->deadline_ns < *first->deadline_ns) first = thread.get();
  }
  if (!has_any) {
    current_->fiber.switch_to(outside_);
    std::abort();
  }
  if (first == nullptr) fail("nobody can go on\n" + who_waits_for_what());
  if (options_.timeouts_are_findings) {
    fail("nobody goes on until a wait ends by its time\n" + who_waits_for_what());
  }
  if (++timeouts_in_a_row_ > kTimeoutsInARowMax) {
    fail("nothing but waits that end by their time\n" + who_waits_for_what());
  }
  ++result_.timeouts;
  time_.now_ns = std::max(time_.now_ns, *first->deadline_ns);
  first->place = nullptr;
  first->ran_out = true;
}

void Scheduler::surprise(Thread& thread) {
  ++surprises_;
  thread.place = nullptr;
  thread.ran_out = thread.deadline_ns.has_value();
  if (thread.ran_out) time_.now_ns = std::max(time_.now_ns, *thread.deadline_ns);
}

void Scheduler::take(const void* mutex) {
  held_.push_back({mutex, current_});
  current_->mutex = nullptr;
}

void Scheduler::lock(const void* mutex) {
  if (owner_of(mutex) == current_) fail(label(current_) + " takes a lock that it has");
  current_->mutex = mutex;
  decide(/*yields=*/false);
  take(mutex);
  note("has " + label(mutex));
}

void Scheduler::unlock(const void* mutex) {
  if (owner_of(mutex) != current_) fail(label(current_) + " lets go of a lock that it hasn't");
  std::erase_if(held_, [mutex](const Held& held) { return held.mutex == mutex; });
  note("lets go of " + label(mutex));
  point();
}

bool Scheduler::wait(const void* place, const void* mutex,
                     std::optional<std::int64_t> deadline_ns) {
  Thread& self = *current_;
  if (mutex != nullptr) {
    if (owner_of(mutex) != &self) fail(label(&self) + " waits without the lock");
    std::erase_if(held_, [mutex](const Held& held) { return held.mutex == mutex; });
  }
  note(fmt::format("waits at {}{}", label(place), deadline_ns ? " for a while" : ""));
  self.place = place;
  self.mutex = mutex;
  self.deadline_ns = deadline_ns;
  self.ran_out = false;
  self.waits_since = ++waits_begun_;
  decide(/*yields=*/false);
  if (mutex != nullptr) take(mutex);
  self.deadline_ns.reset();
  note(self.ran_out ? "has waited long enough" : "is woken");
  if (!self.ran_out) timeouts_in_a_row_ = 0;
  return !self.ran_out;
}

int Scheduler::wake(const void* place, int count_max) {
  // While a lock is held no other thread interferes: changes of the state seen need the lock.
  const bool holds_a_lock =
      std::ranges::any_of(held_, [this](const Held& held) { return held.owner == current_; });
  if (!holds_a_lock) decide(/*yields=*/false);
  int count = 0;
  while (count < count_max) {
    Decision decision;
    decision.kind = Decision::Kind::who_is_woken;
    for (const auto& thread : threads_) {
      if (thread->place == place) decision.threads.push_back(thread->id);
    }
    if (decision.threads.empty()) break;
    std::ranges::sort(decision.threads, {}, [this](int id) {
      return threads_[static_cast<std::size_t>(id)]->waits_since;
    });
    const bool wakes_all = decision.threads.size() <= static_cast<std::size_t>(count_max - count);
    const std::size_t chosen = wakes_all ? 0 : choose(decision);
    Thread& thread = *threads_[static_cast<std::size_t>(decision.threads[chosen])];
    thread.place = nullptr;
    ++count;
    note(fmt::format("wakes {}", label(&thread)));
  }
  if (count == 0) note(fmt::format("finds nobody to wake at {}", label(place)));
  return count;
}

Scheduler::Thread* Scheduler::start(std::function<void()> routine) {
  const int id = static_cast<int>(threads_.size());
  Thread* const thread =
      threads_.emplace_back(std::make_unique<Thread>(id, std::move(routine))).get();
  note("starts " + label(thread));
  return thread;
}

void Scheduler::join(Thread& thread) {
  note("waits for the end of " + label(&thread));
  current_->joined = &thread;
  decide(/*yields=*/false);
  current_->joined = nullptr;
}

void Scheduler::yield() {
  note("lets others go first");
  decide(/*yields=*/true);
}

void Scheduler::sleep_until(std::int64_t deadline_ns) { wait(current_, nullptr, deadline_ns); }

void Scheduler::name_current(std::string name) { current_->name = std::move(name); }

void Scheduler::note(const std::string& event) {
  if (!options_.is_traced) return;
  result_.trace.push_back(fmt::format("{:4}  {}{} {}", result_.decisions.size(),
                                      std::string(static_cast<std::size_t>(4 * current_->id), ' '),
                                      label(current_), event));
}

std::string Scheduler::label(const void* object) {
  for (const auto& thread : threads_) {
    if (thread.get() != object) continue;
    return thread->name.empty() ? fmt::format("thread {}", thread->id)
                                : fmt::format("thread {} ({})", thread->id, thread->name);
  }
  if (std::ranges::find(known_, object) == known_.end()) known_.push_back(object);
  return fmt::format("object {}", std::ranges::find(known_, object) - known_.begin());
}

std::string Scheduler::who_waits_for_what() {
  std::string text;
  for (const auto& thread : threads_) {
    std::string what = "could go on";
    if (thread->has_ended) {
      what = "has ended";
    } else if (thread->place == thread.get()) {
      what = "sleeps";
    } else if (thread->place != nullptr) {
      what = "waits at " + label(thread->place);
    } else if (thread->joined != nullptr) {
      what = "waits for the end of " + label(thread->joined);
    } else if (thread->mutex != nullptr && owner_of(thread->mutex) != nullptr) {
      what = fmt::format("waits for {}, which {} has", label(thread->mutex),
                         label(owner_of(thread->mutex)));
    }
    text += fmt::format("  {} {}\n", label(thread.get()), what);
  }
  return text;
}

RunResult run(const std::function<void()>& body, Chooser& chooser, const RunOptions& options) {
  return Scheduler(chooser, options).run(body);
}

Undisturbed::Undisturbed() { Scheduler::active()->set_undisturbed(true); }
Undisturbed::~Undisturbed() { Scheduler::active()->set_undisturbed(false); }

void check(bool holds, const std::string& what) {
  if (!holds) Scheduler::active()->fail(what);
}

}  // namespace infeed::schedules
