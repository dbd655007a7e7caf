// The calls by which the C++ library takes locks, waits and starts threads. Since the program
// defines them, they are found before those of the C library, which get the calls outside of runs.
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <dlfcn.h>
#include <linux/futex.h>
#include <optional>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "schedules/scheduler.h"

namespace {

using infeed::schedules::Scheduler;

/// The C library's function, looked up at the first call.
template <class Function>
class Real {
 public:
  explicit constexpr Real(const char* name) : name_(name) {}
  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    if (found_ == nullptr) {
#if defined(__x86_64__)
      // dlsym() may find the condition variables of 2002.
      found_ = reinterpret_cast<Function*>(dlvsym(RTLD_NEXT, name_, "GLIBC_2.3.2"));
#endif
      if (found_ == nullptr) found_ = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
    }
    return found_(arguments...);
  }

 private:
  const char* const name_;
  Function* found_ = nullptr;
};

std::int64_t ns_of(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

timespec timespec_of(std::int64_t ns) {
  return {.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
          .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
}

Scheduler::Thread* thread_of(pthread_t thread) {
  return reinterpret_cast<Scheduler::Thread*>(thread);
}

constinit Real<int(pthread_mutex_t*)> real_mutex_lock("pthread_mutex_lock");
constinit Real<int(pthread_mutex_t*)> real_mutex_trylock("pthread_mutex_trylock");
constinit Real<int(pthread_mutex_t*)> real_mutex_unlock("pthread_mutex_unlock");
constinit Real<int(pthread_cond_t*, pthread_mutex_t*)> real_cond_wait("pthread_cond_wait");
constinit Real<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> real_cond_timedwait(
    "pthread_cond_timedwait");
constinit Real<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>
    real_cond_clockwait("pthread_cond_clockwait");
constinit Real<int(pthread_cond_t*)> real_cond_signal("pthread_cond_signal");
constinit Real<int(pthread_cond_t*)> real_cond_broadcast("pthread_cond_broadcast");
constinit Real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> real_create(
    "pthread_create");
constinit Real<int(pthread_t, void**)> real_join("pthread_join");
constinit Real<int(pthread_t)> real_detach("pthread_detach");
constinit Real<pthread_t()> real_self("pthread_self");
constinit Real<int(pthread_t, const char*)> real_setname("pthread_setname_np");
constinit Real<int()> real_yield("sched_yield");
constinit Real<int(const timespec*, timespec*)> real_nanosleep("nanosleep");
constinit Real<int(clockid_t, timespec*)> real_clock_gettime("clock_gettime");
constinit Real<int(int, rusage*)> real_getrusage("getrusage");
constinit Real<long(long, long, long, long, long, long, long)> real_syscall("syscall");

int timed_wait(Scheduler& scheduler, pthread_cond_t* condition, pthread_mutex_t* mutex,
               const timespec* deadline) {
  return scheduler.wait(condition, mutex, ns_of(*deadline)) ? 0 : ETIMEDOUT;
}

long failed(int error) {
  errno = error;
  return -1;
}

/// std::atomic::wait(), semaphores and the guards of static variables.
long futex(Scheduler& scheduler, const int* word, int operation, int value, const timespec* time) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      if (*word != value) return failed(EAGAIN);
      std::optional<std::int64_t> deadline_ns;
      const bool is_relative = (operation & FUTEX_CMD_MASK) == FUTEX_WAIT;
      if (time != nullptr) deadline_ns = ns_of(*time) + (is_relative ? scheduler.time().now_ns : 0);
      if (scheduler.wait(word, nullptr, deadline_ns)) return 0;
      return failed(ETIMEDOUT);
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      return scheduler.wake(word, value);
    default:
      scheduler.fail("a futex operation that the scheduler doesn't know");
  }
}

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_mutex_lock(mutex);
  scheduler->lock(mutex);
  return 0;
}

// Waits for the lock. The only caller in a run, HandOff::lock_again(), tries 200 times and then
// waits: one step replaces 201 that can't be told apart.
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_mutex_trylock(mutex);
  scheduler->lock(mutex);
  return 0;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_mutex_unlock(mutex);
  scheduler->unlock(mutex);
  return 0;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_cond_wait(condition, mutex);
  scheduler->wait(condition, mutex, std::nullopt);
  return 0;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* deadline) {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_cond_timedwait(condition, mutex, deadline);
  return timed_wait(*scheduler, condition, mutex, deadline);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* deadline) {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_cond_clockwait(condition, mutex, clock, deadline);
  return timed_wait(*scheduler, condition, mutex, deadline);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_cond_signal(condition);
  scheduler->wake(condition, 1);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_cond_broadcast(condition);
  scheduler->wake(condition, INT32_MAX);
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                   void* argument) noexcept {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_create(thread, attributes, routine, argument);
  Scheduler::Thread* const started = scheduler->start([routine, argument] { routine(argument); });
  *thread = reinterpret_cast<pthread_t>(started);  // the new one may look at it
  scheduler->point();
  return 0;
}

int pthread_join(pthread_t thread, void** result) {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_join(thread, result);
  scheduler->join(*thread_of(thread));
  return 0;
}

int pthread_detach(pthread_t thread) noexcept {
  return Scheduler::active() == nullptr ? real_detach(thread) : 0;
}

pthread_t pthread_self() noexcept {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_self();
  return reinterpret_cast<pthread_t>(&scheduler->current());
}

int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_setname(thread, name);
  scheduler->name_current(name);
  return 0;
}

int sched_yield() noexcept {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_yield();
  scheduler->yield();
  return 0;
}

int nanosleep(const timespec* time, timespec* left) {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_nanosleep(time, left);
  scheduler->sleep_until(scheduler->time().now_ns + ns_of(*time));
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_clock_gettime(clock, time);
  const std::int64_t now_ns = scheduler->time().look();
  const bool is_of_processor =
      clock == CLOCK_THREAD_CPUTIME_ID || clock == CLOCK_PROCESS_CPUTIME_ID;
  *time = timespec_of(is_of_processor && scheduler->time().threads_seem_to_wait ? 0 : now_ns);
  return 0;
}

int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr) return real_getrusage(who, usage);
  *usage = {};
  usage->ru_nvcsw = scheduler->time().looks;  // it has waited since it was last asked
  return 0;
}

long syscall(long number, ...) noexcept {
  va_list arguments;
  va_start(arguments, number);
  long values[6];
  for (long& value : values) value = va_arg(arguments, long);
  va_end(arguments);
  Scheduler* const scheduler = Scheduler::active();
  if (scheduler == nullptr || number != SYS_futex) {
    return real_syscall(number, values[0], values[1], values[2], values[3], values[4], values[5]);
  }
  return futex(*scheduler, reinterpret_cast<const int*>(values[0]), static_cast<int>(values[1]),
               static_cast<int>(values[2]), reinterpret_cast<const timespec*>(values[3]));
}

}  // extern "C"
