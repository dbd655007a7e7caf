#include "schedules/virtual_time.h"

#if defined(__x86_64__)
#include <csignal>
#include <sys/prctl.h>
#include <ucontext.h>

namespace infeed::schedules {
namespace {

VirtualTime* shown = nullptr;
struct sigaction former_action;

/// Puts the time where rdtsc or rdtscp would; any other fault stays one.
void on_fault(int, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* const code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  const bool is_rdtsc = code[0] == 0x0f && code[1] == 0x31;
  const bool is_rdtscp = code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9;
  if (shown == nullptr || (!is_rdtsc && !is_rdtscp)) {
    sigaction(SIGSEGV, &former_action, nullptr);  // the instruction is tried again, and ends us
    return;
  }
  const auto now = static_cast<std::uint64_t>(shown->look());
  registers[REG_RAX] = static_cast<greg_t>(now & 0xffffffff);
  registers[REG_RDX] = static_cast<greg_t>(now >> 32);
  if (is_rdtscp) registers[REG_RCX] = 0;
  registers[REG_RIP] += is_rdtsc ? 2 : 3;
}

bool set_trap(bool on) {
  return prctl(PR_SET_TSC, on ? PR_TSC_SIGSEGV : PR_TSC_ENABLE, 0, 0, 0) == 0;
}

}  // namespace

CounterShows::CounterShows(VirtualTime& time) {
  shown = &time;
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &former_action);
  set_trap(true);
}

CounterShows::~CounterShows() {
  set_trap(false);
  sigaction(SIGSEGV, &former_action, nullptr);
  shown = nullptr;
}

bool CounterShows::is_possible() {
  static const bool is_possible = set_trap(true) && set_trap(false);
  return is_possible;
}

}  // namespace infeed::schedules

#else  // the engine reads the steady clock, which is the run's anyway

namespace infeed::schedules {

CounterShows::CounterShows(VirtualTime&) {}
CounterShows::~CounterShows() = default;
bool CounterShows::is_possible() { return true; }

}  // namespace infeed::schedules
#endif
