#include "engine/recording/recorder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"
#include "engine/recording/live_page.h"
#include "engine/statistics/pull_sample.h"

namespace infeed::detail {
namespace {

// The recorder looks at threads that wait so often.
constexpr auto kLookEvery = std::chrono::milliseconds(10);
// Calls and rows beyond these limits are dropped, and counted.
constexpr std::size_t kSlowPerWindow = 512;
constexpr std::size_t kRowsPerWindow = 8192;
constexpr std::size_t kThreadsMax = 1024;

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::uint64_t read_ready_ns(int schedstat) {
  std::array<char, 64> text{};
  if (schedstat < 0 || ::pread(schedstat, text.data(), text.size() - 1, 0) <= 0) return 0;
  char* end = nullptr;
  std::strtoull(text.data(), &end, 10);
  return std::strtoull(end, nullptr, 10);
}

std::uint64_t switches_of_this_thread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw) + static_cast<std::uint64_t>(usage.ru_nivcsw);
}

const char* text_of_environment(const char* name) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? "" : text;
}

}  // namespace

std::unique_ptr<Recorder> Recorder::of(IteratorContext& run, const RecordingOptions& options,
                                       RecordingStatus& status) {
  RecordingOptions wanted = options;
  if (wanted.file.empty()) wanted.file = text_of_environment("INFEED_PROFILE");
  wanted.live = wanted.live || std::string_view(text_of_environment("INFEED_TOP")) == "1";
  if (wanted.file.empty() && !wanted.live) return nullptr;
  try {
    std::optional<RecordingFile> file;
    if (!wanted.file.empty()) file.emplace(wanted.file, wanted.bytes_max);
    return std::make_unique<Recorder>(run, wanted, std::move(file));
  } catch (...) {
    status.problem = current_error()->what();
    return nullptr;
  }
}

Recorder::Recorder(IteratorContext& run, const RecordingOptions& options,
                   std::optional<RecordingFile> file)
    : run_(run),
      slow_ticks_(ticks_of_us(static_cast<double>(
          std::max<std::chrono::microseconds>(options.slow_after, std::chrono::microseconds(10))
              .count()))),
      start_ticks_(ticks_now()),
      start_time_(std::chrono::steady_clock::now()),
      number_(next_number()),
      file_(std::move(file)),
      windows_(run) {
  status_.is_on = true;
  if (file_) status_.file = file_->name();
  if (options.live) live_ = std::make_unique<LivePage>(number_);
  write_header();
}

Recorder::~Recorder() {
  finish("iterator destroyed");
  for (const WatchedThread& thread : threads_) {
    if (thread.schedstat >= 0) ::close(thread.schedstat);
  }
}

void Recorder::begin_thread() {
  thread_ = std::make_unique<PeriodicThread>([this] { run_.begin_thread("recorder"); }, kLookEvery,
                                             [this] { return look(); });
}

void Recorder::finish(const std::string& why) {
  if (std::exchange(has_ended_, true)) return;
  thread_ = nullptr;
  end_pulls(ticks_now());
  write_down(true);
  const std::uint64_t dropped = [this] {  // stages may still be at work
    const std::lock_guard lock(mutex_);
    return dropped_;
  }();
  append(fmt::format("{{\"end\": {{\"at_ns\": {}, \"why\": {}, \"dropped_events\": {}}}}}\n",
                     ns_since_start(ticks_now()), json_text(why), dropped));
  flush();
  live_ = nullptr;
}

RecordingStatus Recorder::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

// ---- the threads that work ----

WatchedThread* Recorder::find_this_thread() {
  const int thread = static_cast<int>(::syscall(SYS_gettid));
  const std::lock_guard lock(threads_mutex_);
  const auto known = std::find_if(threads_.begin(), threads_.end(), [thread](const auto& watched) {
    return watched.thread == thread;
  });
  WatchedThread* slot = known == threads_.end() ? nullptr : &*known;
  if (slot == nullptr && threads_.size() < kThreadsMax) {
    slot = &threads_.emplace_back();
    slot->thread = thread;
    slot->schedstat = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  }
  watched_thread = {number_, slot};
  return slot;
}

/// A thread that has kept its core since the last reading was on it all the time, so that reading says
/// what a new one would. To count its switches takes 1.3 us behind other work, and a reading 6 to 9.
/// Interrupts and a hypervisor take from it what is no switch: hence not for ever.
void Recorder::renew_usage(WatchedThread& thread, std::uint64_t now_ticks) const {
  const bool is_old = now_ticks - thread.usage.at_ticks >= usage_age_ticks_max_;
  if (is_old || thread.usage.switches != switches_of_this_thread()) read_usage(thread, now_ticks);
  thread.usage_due_ticks = now_ticks + stale_ticks_;
}

void Recorder::read_usage(WatchedThread& thread, std::uint64_t now_ticks) {
  // The switches come first: one between the readings makes the next call read again.
  const std::uint64_t switches = switches_of_this_thread();
  thread.usage = {now_ticks, thread_cpu_ns(), read_ready_ns(thread.schedstat), switches};
}

void Recorder::note_slow(const StageCounters& stage, const OwnTime& time, const Elements& elements,
                         TracedPlace traced) {
  WatchedThread& thread = *this_thread();
  const std::uint64_t now = ticks_now();
  const ThreadUsage before = thread.usage;
  read_usage(thread, now);
  thread.usage_due_ticks = now + stale_ticks_;
  RecordedSlowCall call;
  call.begin_ns = ns_since_start(time.begin_ticks);
  call.took_ns = ns_of(time.ticks);
  // It was looked at up to two milliseconds before the call: what was off the core then, too, is at
  // most that much.
  const std::uint64_t between_ns = ns_of(now - before.at_ticks);
  const std::uint64_t cpu_ns = std::min(between_ns, thread.usage.cpu_ns - before.cpu_ns);
  call.cpu_ns = call.took_ns - std::min(call.took_ns, between_ns - cpu_ns);
  call.preempted_ns = std::min(call.took_ns - call.cpu_ns, thread.usage.ready_ns - before.ready_ns);
  call.stage = &stage;
  call.position = elements.position;
  call.count = elements.count;
  call.pass = elements.pass;
  call.thread = thread.thread;
  call.begin_ticks = time.begin_ticks;
  call.end_ticks = now;
  call.traced = std::move(traced);
  const std::lock_guard lock(mutex_);
  if (slow_.size() == kSlowPerWindow) {
    ++dropped_;
    return;
  }
  slow_.push_back(std::move(call));
}

// ---- the consumer's thread ----

void Recorder::begin_pulls(std::uint64_t now_ticks) {
  end_pulls(now_ticks);
  has_pulls_ = true;
  pulls_ = {.begin_ticks = now_ticks};
}

/// Ends the row. The consumer's own time is the part that isn't waiting.
void Recorder::end_pulls(std::uint64_t now_ticks) {
  if (!std::exchange(has_pulls_, false)) return;
  const std::uint64_t length_ticks = now_ticks - pulls_.begin_ticks;
  RecordedStepRow row;
  row.number = steps_;
  row.begin_ns = ns_since_start(pulls_.begin_ticks);
  row.infeed_wait_ns = ns_of(pulls_.wait_ticks);
  row.compute_ns = ns_of(length_ticks - std::min(length_ticks, pulls_.wait_ticks));
  row.elements = pulls_.elements;
  steps_ += pulls_.elements;
  add_row(std::move(row));
}

void Recorder::note_step(const StepTimes& step) {
  const auto ns = [](std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()));
  };
  RecordedStepRow row;
  row.number = steps_++;
  row.begin_ns = ns(step.begin - start_time_);
  row.infeed_wait_ns = ns(step.infeed_wait);
  row.transfer_ns = ns(step.transfer);
  row.compute_ns = ns(step.compute);
  row.all_reduce_ns = ns(step.all_reduce);
  row.idle_ns = ns(step.idle);
  row.elements = step.elements;
  row.name = step.name;
  add_row(std::move(row));
}

void Recorder::add_row(RecordedStepRow row) {
  const std::lock_guard lock(mutex_);
  if (rows_.size() == kRowsPerWindow) {
    ++dropped_;
    return;
  }
  rows_.push_back(std::move(row));
}

void Recorder::note_tuning(std::string text) {
  const std::uint64_t at_ns = ns_since_start(ticks_now());
  const std::lock_guard lock(mutex_);
  tuning_.emplace_back(at_ns, std::move(text));
}

}  // namespace infeed::detail
