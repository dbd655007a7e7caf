#include "engine/recording/recorder.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>

#include <infeed/pipeline/errors_in_flight.h>

#include "engine/iterator_context.h"
#include "engine/recording/live_page.h"

namespace infeed::detail {
namespace {

// The interval at which the recorder looks at threads that wait.
constexpr auto kLookEvery = std::chrono::milliseconds(10);
// Looks at the threads for each of the rarer things.
constexpr std::uint64_t kLooksPerWindow = 10;
constexpr std::uint64_t kLooksPerPage = 5 * kLooksPerWindow;
constexpr std::uint64_t kLooksPerHistogram = 50 * kLooksPerWindow;
// The most slow calls in a window. Further ones are dropped and counted.
constexpr std::size_t kSlowPerWindow = 512;
constexpr std::uint64_t kOutlierTimes = 4;

const char* text_of_environment(const char* name) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? "" : text;
}

/// True if another name helps, as for a folder that isn't there; false for a full disk.
bool is_of_the_name(ErrorCode code) {
  return code == ErrorCode::not_found || code == ErrorCode::permission_denied ||
         code == ErrorCode::invalid_argument || code == ErrorCode::failed_precondition;
}

/// Opens the file, if one is wanted. Throws Error if nothing can be recorded to its name, which `who`
/// gave. Says in `problem` what else is in the way: the run goes on without.
std::optional<RecordingFile> begin_file(const RecordingOptions& wanted, std::string_view who,
                                        std::string& problem) {
  if (wanted.file.empty()) return std::nullopt;
  // A folder that is removed while a process records to it ends none of its runs. One name is enough:
  // that of the environment, or of each epoch.
  static std::string begun;
  try {
    RecordingFile file(wanted.file, wanted.bytes_max);
    begun = wanted.file;
    return file;
  } catch (const Error& error) {
    if (is_of_the_name(error.code()) && begun != wanted.file) {
      throw error.reworded(
          error.code(),
          fmt::format("{} names a file that can't be recorded to: {}", who, error.message()));
    }
    problem = error.what();
  } catch (...) {
    problem = current_error()->what();
  }
  return std::nullopt;
}

/// Throws Error if no run can be shown on this machine, which `who` asked for.
void check_live(std::string_view who) {
  // A process that has shown one goes on if it loses the right to.
  [[maybe_unused]] static const bool could_be_shown = [who] {
    try {
      require_live_pages();
    } catch (const Error& error) {
      throw error.reworded(error.code(), fmt::format("{} shows the run by a file in /dev/shm: {}",
                                                     who, error.message()));
    }
    clear_left_pages();
    return true;
  }();
}

/// Returns the time that half of a stage's calls didn't exceed.
std::uint64_t usual_call_ns(const StageCounters& stage) {
  std::uint64_t all = 0;
  for (const auto& count : stage.calls_by_log2_ns) all += count.load(std::memory_order_relaxed);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < stage.calls_by_log2_ns.size(); ++i) {
    below += stage.calls_by_log2_ns[i].load(std::memory_order_relaxed);
    if (2 * below >= all) return std::uint64_t{2} << i;
  }
  return 0;
}

}  // namespace

std::unique_ptr<Recorder> Recorder::of(IteratorContext& run, const RecordingOptions& options,
                                       RecordingStatus& status) {
  RecordingOptions wanted = options;
  if (wanted.file.empty()) wanted.file = text_of_environment("INFEED_PROFILE");
  wanted.live = wanted.live || std::string_view(text_of_environment("INFEED_TOP")) == "1";
  if (wanted.file.empty() && !wanted.live) return nullptr;
  if (wanted.live) check_live(options.live ? "recording.live" : "INFEED_TOP");
  // An iterator that begins beside another finds that one's file with its first line, which says
  // that it is this process's.
  static std::mutex beginning;
  const std::lock_guard lock(beginning);
  const char* const who = options.file.empty() ? "INFEED_PROFILE" : "recording.file";
  std::optional<RecordingFile> file = begin_file(wanted, who, status.problem);
  if (!file && !wanted.live) return nullptr;
  try {
    auto recorder = std::make_unique<Recorder>(run, wanted, std::move(file));
    // A run whose file couldn't be begun is shown; one whose header couldn't be written says so itself.
    if (recorder->status_.problem.empty()) recorder->status_.problem = status.problem;
    return recorder;
  } catch (...) {
    status.problem = current_error()->what();
    return nullptr;
  }
}

Recorder::Recorder(IteratorContext& run, const RecordingOptions& options,
                   std::optional<RecordingFile> file)
    : run_(run), clock_(options.slow_after), file_(std::move(file)), windows_(run) {
  status_.is_on = true;
  if (file_) status_.file = file_->name();
  if (options.live) live_ = std::make_unique<LivePage>(threads_.number());
  write_header();
}

Recorder::~Recorder() { finish("iterator destroyed"); }

void Recorder::begin_thread() {
  thread_ = std::make_unique<PeriodicThread>([this] { run_.begin_thread("recorder"); }, kLookEvery,
                                             [this] { return look(); });
}

void Recorder::finish(const std::string& why) {
  if (std::exchange(has_ended_, true)) return;
  thread_ = nullptr;
  steps_.end_pulls(ticks_now());
  write_down(true);
  const std::uint64_t dropped = [this] {  // stages may still be at work
    const std::lock_guard lock(mutex_);
    return dropped_;
  }();
  append(fmt::format("{{\"end\": {{\"at_ns\": {}, \"why\": {}, \"dropped_events\": {}}}}}\n",
                     clock_.ns_now(), json_text(why), dropped + steps_.dropped()));
  flush();
  live_ = nullptr;
}

RecordingStatus Recorder::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Recorder::note_slow(const StageCounters& stage, const OwnTime& time, const Elements& elements,
                         TracedPlace traced) {
  WatchedThread& thread = *threads_.this_thread();
  const std::uint64_t now = ticks_now();
  const ThreadUsage before = threads_.read_usage(thread, now);
  RecordedSlowCall call;
  call.begin_ns = clock_.ns_at(time.begin_ticks);
  call.took_ns = clock_.ns_of(time.ticks);
  // The reading before is up to two milliseconds older than the call. The time off the core may be
  // too long by as much.
  const std::uint64_t between_ns = clock_.ns_of(now - before.at_ticks);
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

void Recorder::note_tuning(std::string text) {
  const std::uint64_t at_ns = clock_.ns_now();
  const std::lock_guard lock(mutex_);
  tuning_.emplace_back(at_ns, std::move(text));
}

bool Recorder::look() {
  look_for_quota();
  threads_.look(clock_.slow_ticks());
  if (++looks_ % kLooksPerWindow == 0) write_down(false);
  return true;
}

void Recorder::look_for_quota() {
  const std::optional<HeldBack::Span> held = held_back_.look(accounts_.read(), clock_.ns_now());
  if (!held) return;
  append(fmt::format("{{\"held_back\": {{\"begin_ns\": {}, \"end_ns\": {}}}}}\n", held->begin_ns,
                     held->end_ns));
}

void Recorder::append(const std::string& line) {
  if (live_ != nullptr) live_->add(line);
  if (file_) file_->append(line);
}

void Recorder::flush() {
  if (!file_) return;
  try {
    file_->write();
  } catch (...) {
    // The run goes on; what was written stays.
    const std::lock_guard lock(mutex_);
    status_.problem = current_error()->what();
    status_.file.clear();
    file_.reset();
  }
}

void Recorder::show_page() {
  if (live_ == nullptr) return;
  try {
    live_->show();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    // One of the file costs more, so it is the one that is told.
    if (status_.problem.empty()) status_.problem = current_error()->what();
    live_ = nullptr;
  }
}

void Recorder::write_header() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const double unix_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  append(
      fmt::format("{}\"program\": {}, \"host\": {}, \"started_unix_s\": {:.6f}, \"slow_after_ns\": "
                  "{}}}\n",
                  recording_begin(), json_text(program_invocation_short_name),
                  json_text(host.data()), unix_s, ns_of_ticks(clock_.slow_ticks())));
  flush();
}

void Recorder::write_down(bool is_last) {
  write_window();
  std::vector<RecordedSlowCall> calls;
  std::vector<std::pair<std::uint64_t, std::string>> tuning;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(slow_);
    tuning.swap(tuning_);
  }
  for (const std::string& line : steps_.take_lines()) append(line);
  write_slow_calls(std::move(calls));
  for (const auto& [at_ns, text] : tuning) {
    append(
        fmt::format("{{\"tuning\": {{\"at_ns\": {}, \"text\": {}}}}}\n", at_ns, json_text(text)));
  }
  if (looks_ % kLooksPerHistogram == 0 || is_last) {
    write_histograms();
    accounts_.find_groups();
    held_back_.begin(accounts_.read());
  }
  flush();
  if (looks_ % kLooksPerPage == 0) show_page();
  threads_.forget_waits_before(ticks_now() - ticks_of_us(10e6));
}

void Recorder::write_window() {
  const Window window = windows_.look(clock_.ns_now());
  write_new_stages();
  append(line_of_window(window, held_back_.take_sum_ns(), ids_));
}

/// Writes the whole list of stages when there are new ones.
void Recorder::write_new_stages() {
  const std::vector<const StageCounters*>& stages = windows_.stages();
  const std::size_t known = ids_.size();
  for (const StageCounters* const stage : stages) {
    ids_.try_emplace(stage, static_cast<int>(ids_.size()));
  }
  if (ids_.size() == known) return;
  append(line_of_stages(windows_.statistics().stages, stages, ids_));
}

void Recorder::write_slow_calls(std::vector<RecordedSlowCall> calls) {
  for (RecordedSlowCall& call : calls) {
    if (!ids_.contains(call.stage)) {  // its inner dataset was opened since the window
      const std::lock_guard lock(mutex_);
      slow_.push_back(std::move(call));
      continue;
    }
    call.waited_in = threads_.seen_waiting(call);
    const std::uint64_t usual_ns = usual_call_ns(*call.stage);
    const bool is_outlier = call.took_ns > kOutlierTimes * usual_ns;
    append(line_of_slow_call(is_outlier ? "outlier" : "slow", call, ids_.at(call.stage)));
  }
}

void Recorder::write_histograms() {
  for (const StageCounters* const stage : windows_.stages()) {
    std::string counts;
    for (const auto& count : stage->calls_by_log2_ns) {
      counts +=
          fmt::format("{}{}", counts.empty() ? "" : ",", count.load(std::memory_order_relaxed));
    }
    append(fmt::format("{{\"histogram\": {{\"stage\": {}, \"calls_by_log2_ns\": [{}]}}}}\n",
                       ids_.at(stage), counts));
  }
}

}  // namespace infeed::detail
