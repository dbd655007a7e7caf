#include "pipeline/drawn_whole/hang_watch.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace infeed::test {

HangWatch::HangWatch(std::chrono::seconds limit) : limit_(limit), thread_([this] { watch(); }) {}

HangWatch::~HangWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void HangWatch::begin(std::string description, std::string command) {
  const std::lock_guard lock(mutex_);
  description_ = std::move(description);
  command_ = std::move(command);
}

void HangWatch::check(std::string what, bool may_sleep) {
  const std::lock_guard lock(mutex_);
  check_ = std::move(what);
  is_watching_ = true;
  may_sleep_ = may_sleep;
  seconds_asleep_ = 0;
  begun_ = std::chrono::steady_clock::now();
}

void HangWatch::end() {
  const std::lock_guard lock(mutex_);
  is_watching_ = false;
}

void HangWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    changed_.wait_for(lock, std::chrono::seconds(1));
    if (!is_watching_) continue;
    if (std::chrono::steady_clock::now() - begun_ > limit_) {
      give_up(fmt::format("took more than {} s", limit_.count()));
    }
    seconds_asleep_ = is_asleep() && !may_sleep_ ? seconds_asleep_ + 1 : 0;
    if (seconds_asleep_ == kAsleepSeconds) {
      give_up(fmt::format("let all threads sleep for {} s", kAsleepSeconds));
    }
  }
}

/// True if no other thread wants a core, and none had one for long since the last call.
bool HangWatch::is_asleep() {
  const std::int64_t ticks = std::clock();
  const bool has_worked = ticks - std::exchange(cpu_ticks_, ticks) > CLOCKS_PER_SEC / 20;
  const std::string own = std::to_string(::gettid());
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    if (task.path().filename() == own) continue;
    std::string line;
    std::getline(std::ifstream(task.path() / "stat"), line);
    const std::size_t state = line.rfind(')') + 2;
    if (state < line.size() && line[state] != 'S') return false;
  }
  return !has_worked;
}

void HangWatch::give_up(const std::string& why) {
  fmt::print("\nHANG: {}\n  {} {}\n", description_, check_, why);
  for (const Run* const run : runs_) {
    fmt::print("  at element {}, {} bytes in the account of {}\n{}\n", run->position(),
               run->memory().in_use_bytes(), run->memory().limit_bytes(),
               run->statistics().table());
  }
  fmt::print("  again: {}\n", command_);
  std::fflush(stdout);
  if (std::getenv("INFEED_DRAWN_STACKS") != nullptr) {
    const std::string gdb =
        fmt::format("gdb -p {} -batch -ex 'thread apply all bt 12' 2>/dev/null | grep -v '^\\[New'",
                    ::getpid());
    if (std::system(gdb.c_str()) != 0) fmt::print("gdb failed\n");
  }
  std::fflush(stdout);
  ::_exit(kHungStatus);
}

HangWatch::Shown::Shown(HangWatch& watch, const Run& run) : watch_(watch), run_(run) {
  const std::lock_guard lock(watch_.mutex_);
  watch_.runs_.push_back(&run_);
}

HangWatch::Shown::~Shown() {
  const std::lock_guard lock(watch_.mutex_);
  std::erase(watch_.runs_, &run_);
}

}  // namespace infeed::test
