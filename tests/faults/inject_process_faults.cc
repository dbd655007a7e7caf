/// Preloaded into the program under test: an allocation or thread is refused, or the clock jumps.
/// fault.h says how the call is chosen; the folder doesn't matter.
///
/// | KIND | what happens |
/// |---|---|
/// | memory | the first allocation at the NUMBERth place fails; a place is a stack of calls |
/// | no_memory | so do all allocations after it |
/// | thread, no_thread | the NUMBERth thread isn't begun; nor is any after it |
/// | clock_back, clock_ahead | the clock of the day jumps by three years at the NUMBERth look |
///
/// Only what happens within main() counts. The report of an allocation has the stack.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <unwind.h>

#include "fault.h"

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace infeed::faults {
namespace {

const CountAtEnd count_at_end;
std::atomic<bool> memory_may_fail{false};
std::atomic<bool> all_fail{false};

/// True while this thread looks at its stack, which may take memory.
[[gnu::tls_model("initial-exec")]] thread_local bool is_looking = false;

/// Remembers which places have been seen.
class Places {
 public:
  bool insert(std::uint64_t place) {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      std::atomic<std::uint64_t>& slot = seen_[(place + i) % seen_.size()];
      std::uint64_t there = 0;
      if (slot.compare_exchange_strong(there, place)) return true;
      if (there == place) return false;
    }
    return false;
  }

 private:
  std::array<std::atomic<std::uint64_t>, 1 << 16> seen_{};
};

Places places;

/// The calls that tell a place from another.
struct Stack {
  static constexpr int kCallsMax = 14;
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  int count = 0;
};

_Unwind_Reason_Code add_call(_Unwind_Context* context, void* of) {
  auto& stack = *static_cast<Stack*>(of);
  stack.hash = (stack.hash ^ _Unwind_GetIP(context)) * 1'099'511'628'211U;
  return ++stack.count < Stack::kCallsMax ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void report_stack() {
  std::array<void*, 40> addresses{};
  const int count = backtrace(addresses.data(), static_cast<int>(addresses.size()));
  const int file = open_report();
  backtrace_symbols_fd(addresses.data(), count, file);
  syscall(SYS_close, file);
}

bool is_refused_here() {
  Stack stack;
  _Unwind_Backtrace(&add_call, &stack);
  if (!places.insert(stack.hash | 1U) || !is_turn("an allocation\n")) return false;
  report_stack();
  if (fault().is("no_memory")) all_fail = true;
  return true;
}

/// True if this allocation fails; then errno is set.
bool is_refused() {
  if (!memory_may_fail || is_looking) return false;
  bool refused = all_fail;
  if (!refused) {
    is_looking = true;
    refused = is_refused_here();
    is_looking = false;
  }
  if (refused) errno = ENOMEM;
  return refused;
}

/// Counts a look at the clock of the day. Returns by how many seconds it has jumped.
std::time_t jumped_s() {
  constexpr std::time_t kJumpS = 100'000'000;
  static std::atomic<bool> has_jumped{false};
  const bool ahead = fault().is("clock_ahead");
  if (!ahead && !fault().is("clock_back")) return 0;
  if (is_turn("a look at the clock")) has_jumped = true;
  if (!has_jumped) return 0;
  return ahead ? kJumpS : -kJumpS;
}

bool is_thread_refused() {
  const bool none = fault().is("no_thread");
  if (fault().number < 0 || (!none && !fault().is("thread"))) return false;
  return is_turn("a thread") || (none && fault().number > 0 && calls > fault().number);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

using Main = int(int, char**, char**);
Main* real_main = nullptr;

int watched_main(int argc, char** argv, char** environment) {
  std::array<void*, 1> first{};
  backtrace(first.data(), 1);  // the first call loads what it needs, which takes memory
  memory_may_fail = fault().is("memory") || fault().is("no_memory");
  const int status = real_main(argc, argv, environment);
  memory_may_fail = false;
  return status;
}

}  // namespace
}  // namespace infeed::faults

extern "C" {

using namespace infeed::faults;

int __libc_start_main(Main* main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*end_of_loader)(), void* stack_end) {
  real_main = main;
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  auto* const start = next<Start>("__libc_start_main");
  return start(&watched_main, argc, argv, init, fini, end_of_loader, stack_end);
}

void* malloc(std::size_t size) noexcept { return is_refused() ? nullptr : __libc_malloc(size); }

void* calloc(std::size_t count, std::size_t size) noexcept {
  return is_refused() ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* memory, std::size_t size) noexcept {
  return is_refused() ? nullptr : __libc_realloc(memory, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return is_refused() ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  if (is_refused()) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                   void* of_work) noexcept {
  if (is_thread_refused()) return EAGAIN;
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static Create* const real = next<Create>("pthread_create");
  return real(thread, attributes, work, of_work);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int status = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME && status == 0) time->tv_sec += jumped_s();
  return status;
}

std::time_t time(std::time_t* result) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
