#include "profile/outputs/profile_trace.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/json_text.h"
#include "profile/outputs/profile_figures.h"

namespace infeed::tools {
namespace {

using TraceJson = nlohmann::ordered_json;

// Tracks of the one process. Threads of the pipeline come behind these.
constexpr int kStepsTrack = 1;
constexpr int kTunerTrack = 2;
constexpr int kFirstThreadTrack = 10;
constexpr std::size_t kWriteBytes = std::size_t{1} << 20;

/// Microseconds to the nanosecond, which is what viewers count in.
std::string microseconds(std::uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

std::string quoted(const std::string& text) {
  return without_control_characters(with_utf8_strings(TraceJson(text)).dump());
}

std::string dumped(const TraceJson& json) {
  return without_control_characters(with_utf8_strings(json).dump());
}

class Trace {
 public:
  Trace(const RecordedRun& run, const ProfileReport& report,
        const std::function<void(std::string_view)>& write)
      : run_(run), report_(report), write_(write), late_(late_index_by_step(run, report)) {}

  void write() && {
    text_ = "[\n";
    place_calls();
    names();
    steps();
    slow_calls();
    flows();
    counters();
    tuning();
    event("M", kStepsTrack, 0, "\"name\":\"process_labels\",\"args\":{\"labels\":\"infeed\"}");
    text_ += "\n]\n";
    write_(text_);
  }

 private:
  void event(std::string_view phase, int track, std::uint64_t at_ns, std::string_view rest) {
    if (std::exchange(has_events_, true)) text_ += ",\n";
    text_ += fmt::format("{{\"ph\":\"{}\",\"pid\":1,\"tid\":{},\"ts\":{},{}}}", phase, track,
                         microseconds(at_ns), rest);
    if (text_.size() < kWriteBytes) return;
    write_(text_);
    text_.clear();
  }

  void slice(int track, std::uint64_t begin_ns, std::uint64_t length_ns, const std::string& name,
             const TraceJson& arguments = TraceJson::object()) {
    event("X", track, begin_ns,
          fmt::format("\"dur\":{},\"cat\":\"infeed\",\"name\":{},\"args\":{}",
                      microseconds(length_ns), quoted(name), dumped(arguments)));
  }

  void counter(const std::string& name, std::uint64_t at_ns, std::string_view unit, double value) {
    event("C", 0, at_ns,
          fmt::format("\"name\":{},\"args\":{{\"{}\":{:.12g}}}", quoted(name), unit, value));
  }

  void name_track(int track, const std::string& name) {
    event("M", track, 0,
          fmt::format("\"name\":\"thread_name\",\"args\":{{\"name\":{}}}", quoted(name)));
    event("M", track, 0,
          fmt::format("\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{}}}", track));
  }

  /// Calls of a thread lie in each other or behind each other. If they overlap all the same, the
  /// later call gets another track: viewers drop calls that overlap in part.
  void place_calls() {
    std::vector<std::size_t> order(run_.slow_calls.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const SlowCall &x = run_.slow_calls[a], &y = run_.slow_calls[b];
      return x.begin_ns != y.begin_ns ? x.begin_ns < y.begin_ns : x.took_ns > y.took_ns;
    });
    std::map<int, std::vector<std::vector<std::uint64_t>>> open_by_thread;  // ends, outermost first
    std::map<std::pair<int, std::size_t>, int> tracks;
    call_tracks_.resize(order.size());
    for (const std::size_t i : order) {
      const SlowCall& call = run_.slow_calls[i];
      auto& lanes = open_by_thread[call.thread];
      std::size_t lane = 0;
      for (;; ++lane) {
        if (lane == lanes.size()) lanes.emplace_back();
        std::vector<std::uint64_t>& open = lanes[lane];
        while (!open.empty() && open.back() <= call.begin_ns) open.pop_back();
        if (open.empty() || call.end_ns() <= open.back()) break;
      }
      lanes[lane].push_back(call.end_ns());
      const auto next = kFirstThreadTrack + static_cast<int>(tracks.size());
      const auto [track, is_new] = tracks.try_emplace({call.thread, lane}, next);
      if (is_new) {
        track_names_.push_back(fmt::format("thread {}{}", call.thread,
                                           lane == 0 ? "" : fmt::format(" ({})", lane + 1)));
      }
      call_tracks_[i] = track->second;
    }
  }

  void names() {
    event(
        "M", kStepsTrack, 0,
        fmt::format("\"name\":\"process_name\",\"args\":{{\"name\":{}}}", quoted(run_text(run_))));
    name_track(kStepsTrack, run_.has_steps ? "steps" : "calls of next()");
    if (!run_.tuning.empty()) name_track(kTunerTrack, "tuner");
    for (std::size_t i = 0; i < track_names_.size(); ++i) {
      name_track(kFirstThreadTrack + static_cast<int>(i), track_names_[i]);
    }
  }

  TraceJson arguments_of_late(const LateStep& late) const {
    TraceJson arguments = {{"late_ms", static_cast<double>(late.late_ns) / 1e6},
                           {"cause", name_of(late.cause)}};
    if (is_stage(run_, late.stage)) arguments["stage"] = label_of(run_, late.stage);
    arguments["sentence"] = late.sentence;
    const SlowCall* const call = slow_call_of(run_, late);
    if (call != nullptr) add_origin(arguments, *call);
    return arguments;
  }

  static void add_origin(TraceJson& arguments, const SlowCall& call) {
    if (!call.place) {
      if (!call.untraceable.empty()) arguments["untraceable"] = call.untraceable;
      return;
    }
    arguments["file"] = call.place->file;
    arguments["record"] = call.place->record;
    if (call.place->count > 1) arguments["records"] = call.place->count;
    if (call.place->offset) arguments["offset_bytes"] = *call.place->offset;
  }

  void steps() {
    for (const std::size_t i : steps_) {
      const RecordedStep& step = run_.steps[i];
      TraceJson arguments = TraceJson::object();
      std::string name = fmt::format("step {}", step.number);
      if (late_[i] >= 0) {
        arguments = arguments_of_late(report_.late_steps[static_cast<std::size_t>(late_[i])]);
        name += " (late)";
      }
      if (!step.name.empty()) arguments["name"] = step.name;
      slice(kStepsTrack, step.begin_ns, step.length_ns(), name, arguments);
      std::uint64_t at = step.begin_ns;
      for (const StepPart& part : kStepParts) {
        const std::uint64_t length = step.*part.of_step;
        if (length > 0) slice(kStepsTrack, at, length, std::string(part.words));
        at += length;
      }
    }
  }

  void slow_calls() {
    for (std::size_t i = 0; i < run_.slow_calls.size(); ++i) {
      const SlowCall& call = run_.slow_calls[i];
      TraceJson arguments = {{"position", call.position}, {"pass", call.pass}};
      if (call.count > 1) arguments["elements"] = call.count;
      arguments["cpu_ms"] = static_cast<double>(call.cpu_ns) / 1e6;
      if (call.preempted_ns > 0) {
        arguments["preempted_ms"] = static_cast<double>(call.preempted_ns) / 1e6;
      }
      if (!call.waited_in.empty()) arguments["waited_in"] = call.waited_in;
      add_origin(arguments, call);
      const std::string label = label_of(run_, call.stage);
      slice(call_tracks_[i], call.begin_ns, call.took_ns, label.empty() ? "call" : label,
            arguments);
    }
  }

  /// An arrow ends where the step goes on: at the first part behind the wait.
  void flows() {
    for (const std::size_t i : steps_) {
      if (late_[i] < 0) continue;
      const LateStep& late = report_.late_steps[static_cast<std::size_t>(late_[i])];
      const SlowCall* const call = slow_call_of(run_, late);
      const RecordedStep& step = run_.steps[i];
      if (call == nullptr) continue;
      const std::uint64_t end = step.begin_ns + step.infeed_wait_ns;
      if (end <= call->begin_ns || end >= step.end_ns()) continue;
      const std::string names =
          fmt::format("\"cat\":\"late\",\"name\":\"made late\",\"id\":{}", late_[i] + 1);
      event("s", call_tracks_[static_cast<std::size_t>(late.slow_call)], call->begin_ns, names);
      event("f", kStepsTrack, end, names + ",\"bp\":\"e\"");
    }
  }

  void counters() {
    for (const RecordedWindow& window : run_.windows) {
      if (window.length_ns == 0) continue;
      const auto length = static_cast<double>(window.length_ns);
      const std::uint64_t end = window.begin_ns + window.length_ns;
      counter("process: cores busy", window.begin_ns, "cores",
              static_cast<double>(window.process_cpu_ns) / length);
      counter("process: memory", end, "bytes", static_cast<double>(window.memory_bytes));
      for (const StageWindow& stage : window.stages) {
        if (!is_stage(run_, stage.stage)) continue;
        const std::string label = label_of(run_, stage.stage);
        counter(label + ": rate", window.begin_ns, "elements/s",
                1e9 * static_cast<double>(stage.elements) / length);
        counter(label + ": threads", window.begin_ns, "threads", stage.parallelism);
        if (stage.queue_elements_max > 0) {
          counter(label + ": queue", end, "elements", static_cast<double>(stage.buffered_elements));
        }
      }
    }
  }

  void tuning() {
    for (const RecordedTuning& tuning : run_.tuning) {
      event("i", kTunerTrack, tuning.at_ns,
            fmt::format("\"s\":\"t\",\"cat\":\"tuner\",\"name\":{}", quoted(tuning.text)));
    }
  }

  const RecordedRun& run_;
  const ProfileReport& report_;
  const std::function<void(std::string_view)>& write_;
  const std::vector<std::size_t> steps_ = steps_in_line(run_);
  const std::vector<int> late_;
  std::vector<int> call_tracks_;  ///< by slow call
  std::vector<std::string> track_names_;
  bool has_events_ = false;
  std::string text_;  ///< that isn't written yet
};

}  // namespace

void profile_trace(const RecordedRun& run, const ProfileReport& report,
                   const std::function<void(std::string_view)>& write) {
  Trace(run, report, write).write();
}

}  // namespace infeed::tools
