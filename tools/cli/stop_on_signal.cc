#include "cli/stop_on_signal.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <infeed/detail/start_threads.h>
#include <infeed/detail/wait_unless_stopped.h>
#include <infeed/error.h>

#include "cli/exit_status.h"

namespace infeed::tools {
namespace {

/// Blocks the signals in this thread and in all that it starts, so that only the descriptor gets
/// them.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

}  // namespace

StopOnSignal::StopOnSignal() {
  const sigset_t signals = block_signals();
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC);
  end_ = eventfd(0, EFD_CLOEXEC);
  if (signals_ < 0 || end_ < 0) {
    close_descriptors();
    throw Error(
        ErrorCode::resource_exhausted,
        "cannot watch for Ctrl-C: no file descriptors are left; raise the limit (ulimit -n)");
  }
  try {
    thread_ = infeed::detail::start_thread([this] { watch(); });
  } catch (...) {
    close_descriptors();
    throw;
  }
}

StopOnSignal::~StopOnSignal() {
  const std::uint64_t one = 1;
  while (write(end_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
  close_descriptors();
}

void StopOnSignal::close_descriptors() noexcept {
  if (signals_ >= 0) close(signals_);
  if (end_ >= 0) close(end_);
}

void StopOnSignal::watch() noexcept {
  std::array<pollfd, 2> waiting{{{signals_, POLLIN, 0}, {end_, POLLIN, 0}}};
  while (true) {
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[1].revents != 0) return;
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof(info)) != sizeof(info)) continue;
    if (!source_.request_stop()) _exit(kExitInterrupted);
  }
}

void throw_if_stopped(const std::stop_token& stop, std::string_view before) {
  if (stop.stop_requested()) {
    throw Error(ErrorCode::cancelled, fmt::format("stopped before {}", before));
  }
}

bool sleep_until(std::chrono::steady_clock::time_point time, const std::stop_token& stop) {
  infeed::detail::wait_unless_stopped(time - std::chrono::steady_clock::now(), stop);
  return !stop.stop_requested();
}

}  // namespace infeed::tools
