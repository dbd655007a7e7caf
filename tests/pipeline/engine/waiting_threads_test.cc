#include "engine/recording/waiting_threads.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <poll.h>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace infeed::test {
namespace {

using detail::where_thread_waits;

constexpr std::chrono::seconds kSecondsMax{60};

/// A pipe that is empty until end() closes it.
class EmptyPipe {
 public:
  EmptyPipe() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  ~EmptyPipe() { ::close(ends_[0]); }
  EmptyPipe(const EmptyPipe&) = delete;
  EmptyPipe& operator=(const EmptyPipe&) = delete;

  int out() const { return ends_[0]; }
  void end() { ::close(ends_[1]); }

 private:
  int ends_[2] = {-1, -1};
};

/// Returns the first answer that isn't empty while a thread waits as told.
std::string answer(const std::function<void()>& wait, const std::function<void()>& end) {
  std::atomic<int> thread = 0;
  std::jthread waiting([&] {
    thread = static_cast<int>(::syscall(SYS_gettid));
    wait();
  });
  std::string where;
  const auto until = std::chrono::steady_clock::now() + kSecondsMax;
  while (where.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
    if (thread != 0) where = where_thread_waits(thread);
  }
  end();
  return where;
}

bool system_calls_are_shown() {
  const int descriptor = ::open("/proc/thread-self/syscall", O_RDONLY | O_CLOEXEC);
  char first = 0;
  const bool shown = descriptor >= 0 && ::read(descriptor, &first, 1) == 1;
  if (descriptor >= 0) ::close(descriptor);
  return shown;
}

TEST(WaitingThreads, SayWhatForTheyWait) {
  if (!system_calls_are_shown()) return;  // a kernel that hides them, where recordings name none
  EmptyPipe read_from;
  EXPECT_EQ(answer(
                [&] {
                  char byte = 0;
                  EXPECT_EQ(::read(read_from.out(), &byte, 1), 0);
                },
                [&] { read_from.end(); }),
            "file");
  EmptyPipe polled;
  EXPECT_EQ(answer(
                [&] {
                  pollfd wanted{.fd = polled.out(), .events = POLLIN, .revents = 0};
                  EXPECT_EQ(::poll(&wanted, 1, -1), 1);
                },
                [&] { polled.end(); }),
            "network");
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
  EXPECT_EQ(answer(
                [&] {
                  std::unique_lock lock(mutex);
                  changed.wait(lock, [&] { return is_over; });
                },
                [&] {
                  const std::lock_guard lock(mutex);
                  is_over = true;
                  changed.notify_one();
                }),
            "lock");
}

TEST(WaitingThreads, AThreadThatIsGoneWaitsForNothing) {
  EXPECT_EQ(where_thread_waits(0), std::string());
}

}  // namespace
}  // namespace infeed::test
