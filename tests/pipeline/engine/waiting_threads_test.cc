#include "engine/recording/waiting_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <time.h>
#include <unistd.h>

#include "engine/recording/recorded_lines.h"
#include "engine/recording/watched_threads.h"
#include "engine/statistics/pull_sample.h"
#include "engine/threads/clock.h"

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
  std::atomic<bool> has_slept = false;
  EXPECT_EQ(answer(
                [&] {
                  constexpr timespec kMillisecond{.tv_sec = 0, .tv_nsec = 1'000'000};
                  while (!has_slept) ::nanosleep(&kMillisecond, nullptr);
                },
                [&] { has_slept = true; }),
            "sleep");
}

TEST(WaitingThreads, AThreadThatRunsWaitsForNothing) {
  std::atomic<int> thread = 0;
  std::atomic<bool> is_over = false;
  std::jthread running([&] {
    thread = static_cast<int>(::syscall(SYS_gettid));
    while (!is_over) {
    }
  });
  while (thread == 0) std::this_thread::yield();
  std::string where = "nobody has looked";
  const auto until = std::chrono::steady_clock::now() + kSecondsMax;
  while (!where.empty() && std::chrono::steady_clock::now() < until) {
    where = where_thread_waits(thread);
  }
  is_over = true;
  EXPECT_EQ(where, "");
}

TEST(WaitingThreads, AThreadThatIsGoneWaitsForNothing) {
  EXPECT_EQ(where_thread_waits(0), std::string());
}

TEST(WatchedThreads, HaveASlotEach) {
  detail::WatchedThreads first;
  detail::WatchedThreads second;
  EXPECT_EQ(second.number(), first.number() + 1);
  const detail::WatchedThread* const own = first.this_thread();
  EXPECT_EQ(own->thread, static_cast<int>(::syscall(SYS_gettid)));
  EXPECT_NE(second.this_thread(), own);
  EXPECT_EQ(first.this_thread(), own) << "it is found again";
  const detail::WatchedThread* other = nullptr;
  std::thread([&] { other = first.this_thread(); }).join();
  EXPECT_NE(other, own);
}

std::ptrdiff_t open_accounts_of_threads() {
  const auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return std::count_if(begin(files), end(files), [](const auto& file) {
    std::error_code gone;
    return std::filesystem::read_symlink(file.path(), gone).filename() == "schedstat";
  });
}

TEST(WatchedThreads, CloseTheAccountsThatTheyRead) {
  const std::ptrdiff_t before = open_accounts_of_threads();
  {
    detail::WatchedThreads threads;
    const detail::WatchedThread* const own = threads.this_thread();
    EXPECT_EQ(open_accounts_of_threads(), before + (own->schedstat < 0 ? 0 : 1));
  }
  EXPECT_EQ(open_accounts_of_threads(), before);
}

/// Returns how long this thread could have run without a core, by the kernel.
std::uint64_t ready_ns_of_this_thread() {
  std::uint64_t cpu_ns = 0;
  std::uint64_t ready_ns = 0;
  std::ifstream("/proc/thread-self/schedstat") >> cpu_ns >> ready_ns;
  return ready_ns;
}

std::uint64_t switches_of_this_thread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw) + static_cast<std::uint64_t>(usage.ru_nivcsw);
}

TEST(WatchedThreads, HaveTheUsageThatTheKernelCounts) {
  detail::WatchedThreads threads;
  detail::WatchedThread& own = *threads.this_thread();
  const std::uint64_t cpu_ns = detail::thread_cpu_ns();
  const std::uint64_t ready_ns = ready_ns_of_this_thread();
  const std::uint64_t switches = switches_of_this_thread();
  EXPECT_EQ(threads.read_usage(own, 7).at_ticks, 0U) << "nothing was read before";
  EXPECT_EQ(own.usage.at_ticks, 7U);
  EXPECT_LE(cpu_ns, own.usage.cpu_ns);
  EXPECT_LE(own.usage.cpu_ns, detail::thread_cpu_ns());
  EXPECT_LE(ready_ns, own.usage.ready_ns);
  EXPECT_LE(own.usage.ready_ns, ready_ns_of_this_thread());
  EXPECT_LE(switches, own.usage.switches);
  EXPECT_LE(own.usage.switches, switches_of_this_thread());
  EXPECT_EQ(threads.read_usage(own, 8).at_ticks, 7U);
}

TEST(WatchedThreads, LookAtTheirUsageEveryTwoMillisecondsAndReadItEverySixteen) {
  detail::WatchedThreads threads;
  const std::uint64_t stale = detail::ticks_of_us(2000);
  const std::uint64_t begin = 100 * stale;
  const detail::WatchedThread& own = *threads.this_thread(begin);
  EXPECT_EQ(own.usage.at_ticks, begin);
  EXPECT_EQ(own.usage_due_ticks, begin + stale);
  threads.this_thread(begin + stale - 1);
  EXPECT_EQ(own.usage_due_ticks, begin + stale);
  threads.this_thread(begin + stale);
  EXPECT_EQ(own.usage_due_ticks, begin + 2 * stale);
  const std::uint64_t later = begin + 50 * stale;
  threads.this_thread(later);
  EXPECT_EQ(own.usage.at_ticks, later);
  threads.this_thread(later + 8 * stale);
  EXPECT_EQ(own.usage.at_ticks, later + 8 * stale);
}

TEST(WatchedThreads, SayWhereASlowCallWaits) {
  if (!system_calls_are_shown()) return;  // a kernel that hides them, where recordings name none
  detail::WatchedThreads threads;
  detail::StageCounters stage;
  detail::StageCounters other_stage;
  EmptyPipe pipe;
  std::atomic<int> thread = 0;
  std::atomic<detail::WatchedThread*> slot = nullptr;
  std::jthread waiting([&] {
    slot = threads.this_thread();
    slot.load()->enter(stage, detail::ticks_now());
    thread = static_cast<int>(::syscall(SYS_gettid));
    char byte = 0;
    EXPECT_EQ(::read(pipe.out(), &byte, 1), 0);
  });
  while (thread == 0) std::this_thread::yield();
  detail::RecordedSlowCall call;
  call.stage = &stage;
  call.thread = thread;
  call.end_ticks = UINT64_MAX;
  const auto seen = [&] { return std::string(threads.seen_waiting(call)); };
  threads.look(UINT64_MAX / 2);
  EXPECT_EQ(seen(), "") << "it hasn't been in the call for long";
  const auto until = std::chrono::steady_clock::now() + kSecondsMax;
  while (seen().empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
    threads.look(0);
  }
  threads.forget_waits_before(0);
  EXPECT_EQ(seen(), "file");
  call.stage = &other_stage;
  EXPECT_EQ(seen(), "");
  call.stage = &stage;
  ++call.thread;
  EXPECT_EQ(seen(), "");
  --call.thread;
  call.end_ticks = 0;
  EXPECT_EQ(seen(), "") << "it waited later";
  call.end_ticks = UINT64_MAX;
  call.begin_ticks = detail::ticks_now();
  EXPECT_EQ(seen(), "") << "it waited before";
  call.begin_ticks = 0;
  EXPECT_EQ(seen(), "file");
  threads.forget_waits_before(detail::ticks_now());
  EXPECT_EQ(seen(), "");
  threads.look(detail::ticks_now() / 2);
  EXPECT_EQ(seen(), "") << "it hasn't been in the call for long";
  threads.look(0);
  EXPECT_EQ(seen(), "file") << "once is enough";
  threads.forget_waits_before(detail::ticks_now());
  slot.load()->since_ticks = 0;
  threads.look(0);
  EXPECT_EQ(seen(), "") << "it waits for another thread now";
  pipe.end();
}

/// The first one counts of places that are seen equally often.
TEST(WatchedThreads, SayWhereASlowCallWaitsMostOften) {
  if (!system_calls_are_shown()) return;  // a kernel that hides them, where recordings name none
  detail::WatchedThreads threads;
  detail::StageCounters stage;
  EmptyPipe read_from;
  EmptyPipe polled;
  std::atomic<int> thread = 0;
  std::atomic<bool> polls = false;
  std::jthread waiting([&] {
    threads.this_thread()->enter(stage, detail::ticks_now());
    thread = static_cast<int>(::syscall(SYS_gettid));
    char byte = 0;
    EXPECT_EQ(::read(read_from.out(), &byte, 1), 0);
    polls = true;
    pollfd wanted{.fd = polled.out(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&wanted, 1, -1), 1);
  });
  while (thread == 0) std::this_thread::yield();
  const auto call_since = [&](std::uint64_t begin_ticks) {
    detail::RecordedSlowCall call;
    call.stage = &stage;
    call.thread = thread;
    call.begin_ticks = begin_ticks;
    call.end_ticks = UINT64_MAX;
    return call;
  };
  const auto look_until_seen = [&](const detail::RecordedSlowCall& call, std::string_view where) {
    const auto until = std::chrono::steady_clock::now() + kSecondsMax;
    while (threads.seen_waiting(call) != where && std::chrono::steady_clock::now() < until) {
      std::this_thread::yield();
      threads.look(0);
    }
    EXPECT_EQ(threads.seen_waiting(call), where);
  };
  const detail::RecordedSlowCall whole = call_since(0);
  look_until_seen(whole, "file");
  read_from.end();
  while (!polls) std::this_thread::yield();
  look_until_seen(call_since(detail::ticks_now()), "network");
  EXPECT_EQ(threads.seen_waiting(whole), std::string_view("file")) << "each was seen once";
  look_until_seen(whole, "network");
  polled.end();
}

}  // namespace
}  // namespace infeed::test
