#include "profile/recorded_run.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include <infeed/detail/format_version.h>
#include <infeed/detail/printable_text.h>
#include <infeed/error.h>
#include <infeed/records/detail/json_depth.h>
#include <infeed/records/detail/json_integers.h>
#include <infeed/records/file.h>

#include "cli/limits.h"
#include "cli/stop_on_signal.h"

namespace infeed::tools {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kBegin = "{\"infeed_recording\": ";

std::uint64_t number(const Json& object, const char* key) {
  return detail::json_integer<std::uint64_t>(object, key);
}

/// Restores names: a recording escapes bytes that are no UTF-8.
std::string name_of(const Json& text) {
  return detail::bytes_of_utf8_name(text.get_ref<const std::string&>());
}

class Reading {
 public:
  explicit Reading(RecordedRun& run) : run_(run) {}

  /// Call it behind the last line: says where the details begin. The first window begins with the
  /// recording, unless it was dropped.
  void end() {
    if (run_.has_steps) run_.steps = std::move(measured_);  // pulls before them are no steps
    if (run_.windows.empty()) return;
    run_.detail_from_ns = std::min(run_.windows.front().begin_ns, steps_from_ns_);
  }

  void take(const Json& line) {
    if (line.contains("infeed_recording")) return header(line);
    if (const auto found = line.find("stages"); found != line.end()) return stages(*found);
    if (const auto found = line.find("window"); found != line.end()) return window(*found);
    for (const char* kind : {"steps", "late_steps"}) {
      if (const auto found = line.find(kind); found != line.end()) return steps(*found, line);
    }
    for (const char* kind : {"slow", "outlier"}) {
      if (const auto found = line.find(kind); found != line.end()) return slow(*found);
    }
    if (const auto found = line.find("tuning"); found != line.end()) {
      run_.tuning.push_back({number(*found, "at_ns"), name_of(found->at("text"))});
    } else if (const auto histogram = line.find("histogram"); histogram != line.end()) {
      auto& counts = run_.call_histograms[stage_of(histogram->at("stage"))];
      counts = detail::json_integers<std::uint64_t>(histogram->at("calls_by_log2_ns"));
      if (counts.size() > 64) throw Error(ErrorCode::data_loss, "it counts calls of 2^64 ns");
    } else if (const auto held = line.find("held_back"); held != line.end()) {
      run_.held_back.push_back({number(*held, "begin_ns"), number(*held, "end_ns")});
    } else if (const auto end = line.find("end"); end != line.end()) {
      run_.end = name_of(end->at("why"));
      run_.is_cut = false;
      run_.dropped_events = number(*end, "dropped_events");
    }  // lines that a later version adds are passed over
  }

 private:
  void header(const Json& line) {
    run_.version = detail::json_integer<int>(line, "infeed_recording");
    run_.process = detail::json_integer<std::int64_t>(line, "process");
    run_.program = name_of(line.at("program"));
    run_.host = name_of(line.at("host"));
    run_.started_unix_s = line.at("started_unix_s").get<double>();
    run_.slow_after_ns = number(line, "slow_after_ns");
  }

  std::size_t stage_of(const Json& id) const {
    const int stage = detail::json_integer<int>(id);
    if (stage < 0 || static_cast<std::size_t>(stage) >= run_.stages.size()) {
      throw Error(ErrorCode::data_loss,
                  fmt::format("it names stage {} of {}", stage, run_.stages.size()));
    }
    return static_cast<std::size_t>(stage);
  }

  void stages(const Json& list) {
    for (const Json& entry : list) {
      const int id = detail::json_integer<int>(entry, "id");
      if (id < 0 || id >= limits::recorded_stages) {
        throw Error(ErrorCode::data_loss, fmt::format("it names stage {}, and {} is the limit", id,
                                                      limits::recorded_stages - 1));
      }
      const auto at = static_cast<std::size_t>(id);
      if (run_.stages.size() <= at) {
        run_.stages.resize(at + 1);
        run_.call_histograms.resize(at + 1);
      }
      run_.stages[at] = {.id = id,
                         .name = name_of(entry.at("name")),
                         .label = name_of(entry.at("label")),
                         .path = name_of(entry.at("path")),
                         .consumer = detail::json_integer<int>(entry, "consumer"),
                         .inside = detail::json_integer<int>(entry, "inside"),
                         .runs_ahead = entry.at("runs_ahead").get<bool>(),
                         .is_random = entry.value("is_random", false)};
    }
  }

  void window(const Json& entry) {
    RecordedWindow window;
    window.begin_ns = number(entry, "begin_ns");
    window.length_ns = number(entry, "length_ns");
    window.elements = number(entry, "elements");
    window.consumer_wait_ns = number(entry, "consumer_wait_ns");
    window.process_cpu_ns = number(entry, "process_cpu_ns");
    window.throttled_ns = number(entry, "throttled_ns");
    window.cores = entry.at("cores").get<double>();
    window.cores_of_others = entry.at("cores_of_others").get<double>();
    window.memory_bytes = number(entry, "memory_bytes");
    window.memory_limit_bytes = number(entry, "memory_limit_bytes");
    if (entry.contains("memory_refusals")) {  // recordings of earlier versions have none
      window.memory_refusals = number(entry, "memory_refusals");
    }
    for (const Json& row : entry.at("stages")) {
      StageWindow stage;
      stage.stage = static_cast<int>(stage_of(row.at(0)));
      stage.elements = detail::json_integer<std::uint64_t>(row.at(1));
      stage.bytes = detail::json_integer<std::uint64_t>(row.at(2));
      stage.cpu_ns = detail::json_integer<std::uint64_t>(row.at(3));
      stage.blocked_ns = detail::json_integer<std::uint64_t>(row.at(4));
      stage.wait_ns = detail::json_integer<std::uint64_t>(row.at(5));
      stage.full_ns = detail::json_integer<std::uint64_t>(row.at(6));
      stage.buffered_elements = detail::json_integer<std::uint64_t>(row.at(7));
      stage.buffered_bytes = detail::json_integer<std::uint64_t>(row.at(8));
      stage.queue_elements_max = detail::json_integer<std::uint64_t>(row.at(9));
      const int threads = detail::json_integer<int>(row.at(10));
      stage.is_serial = threads == 0;
      stage.parallelism = std::max(1, threads);
      window.stages.push_back(stage);
    }
    run_.cores = window.cores;
    run_.windows.push_back(std::move(window));
  }

  void steps(const Json& rows, const Json& line) {
    std::unordered_map<std::uint64_t, std::string> names;
    if (const auto found = line.find("names"); found != line.end()) {
      for (const auto& [step, name] : found->items()) names[std::stoull(step)] = name_of(name);
    }
    bool are_measured = false;
    if (const auto found = line.find("measured"); found != line.end()) {
      are_measured = found->get<bool>();
      run_.has_steps = run_.has_steps || are_measured;
    }
    // Late steps behind a window that is left are of the part that is left.
    const bool is_detail = line.contains("steps") || !run_.windows.empty();
    for (const Json& row : rows) {
      RecordedStep step;
      step.number = detail::json_integer<std::uint64_t>(row.at(0));
      step.begin_ns = detail::json_integer<std::uint64_t>(row.at(1));
      step.infeed_wait_ns = detail::json_integer<std::uint64_t>(row.at(2));
      step.transfer_ns = detail::json_integer<std::uint64_t>(row.at(3));
      step.compute_ns = detail::json_integer<std::uint64_t>(row.at(4));
      step.all_reduce_ns = detail::json_integer<std::uint64_t>(row.at(5));
      step.idle_ns = detail::json_integer<std::uint64_t>(row.at(6));
      step.elements = detail::json_integer<std::uint64_t>(row.at(7));
      if (const auto name = names.find(step.number); name != names.end()) step.name = name->second;
      if (is_detail) steps_from_ns_ = std::min(steps_from_ns_, step.begin_ns);
      if (are_measured) {
        measured_.push_back(std::move(step));
      } else {
        add_pull(step);
      }
    }
  }

  /// Adds the steps of a pull, which gives several elements at once where the pipeline is ahead: a step
  /// for each element, but none shorter than those that are put together anyway. Only the first one
  /// has waited; the others are taken for equally long.
  void add_pull(const RecordedStep& pull) {
    constexpr std::uint64_t kShortestNs = 1'000'000;
    const bool are_too_many = run_.steps.size() >= limits::recorded_steps;
    const auto most =
        are_too_many ? 1 : std::clamp<std::uint64_t>(pull.elements, 1, limits::steps_of_pull);
    const auto steps =
        std::clamp<std::uint64_t>((pull.length_ns() - pull.infeed_wait_ns) / kShortestNs, 1, most);
    std::uint64_t number = pull.number;
    std::uint64_t begin_ns = pull.begin_ns;
    for (std::uint64_t i = 0; i < steps; ++i) {
      const auto part_of = [&](std::uint64_t all) {
        return all / steps + (i < all % steps ? 1 : 0);
      };
      RecordedStep step = pull;
      step.number = number;
      step.begin_ns = begin_ns;
      step.infeed_wait_ns = i == 0 ? pull.infeed_wait_ns : 0;
      step.compute_ns = part_of(pull.compute_ns);
      step.idle_ns = part_of(pull.idle_ns);
      step.elements = part_of(pull.elements);
      number += step.elements;
      begin_ns = step.end_ns();
      run_.steps.push_back(std::move(step));
    }
  }

  void slow(const Json& entry) {
    SlowCall call;
    call.begin_ns = number(entry, "begin_ns");
    call.took_ns = number(entry, "took_ns");
    call.cpu_ns = number(entry, "cpu_ns");
    call.preempted_ns = number(entry, "preempted_ns");
    call.stage = static_cast<int>(stage_of(entry.at("stage")));
    call.position = number(entry, "position");
    call.count = number(entry, "count");
    call.pass = number(entry, "pass");
    call.thread = detail::json_integer<int>(entry, "thread");
    if (const auto found = entry.find("waited_in"); found != entry.end()) {
      call.waited_in = name_of(*found);
    }
    if (entry.contains("file")) {
      RecordedPlace& place = call.place.emplace();
      place.file = name_of(entry.at("file"));
      place.record = number(entry, "record");
      place.count = number(entry, "records");
      if (entry.contains("offset")) place.offset = number(entry, "offset");
    } else {
      call.untraceable = name_of(entry.at("untraceable"));
    }
    run_.slow_calls.push_back(std::move(call));
  }

  RecordedRun& run_;
  std::vector<RecordedStep> measured_;
  std::uint64_t steps_from_ns_ = UINT64_MAX;  ///< begin of the first step of the details
};

/// Says what a file is that begins so, for somebody who has taken the wrong one.
std::string likeness(std::string_view begin) {
  if (begin.starts_with("{\"traceEvents\"") || begin.starts_with("[{\"ph\"")) return "a trace";
  if (begin.starts_with("{")) return "other JSON";
  if (begin.starts_with("\x1f\x8b")) return "compressed by gzip";
  if (begin.starts_with("\x28\xb5\x2f\xfd")) return "compressed by zstd";
  if (begin.starts_with("PERFILE2")) return "perf's";
  constexpr std::size_t kShownBytes = 40;
  const std::string_view line = begin.substr(0, begin.find_first_of("\r\n"));
  return fmt::format("it begins with '{}'", detail::printable_text(line.substr(0, kShownBytes)));
}

void check_begin(const std::string& path, const std::string& first_line) {
  if (first_line.starts_with(kBegin)) return;
  if (first_line.empty()) {
    throw Error(ErrorCode::failed_precondition,
                "the recording is empty: nothing was iterated, or it was cut at its very beginning")
        .at_file(path);
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("this is no recording of infeed ({}); INFEED_PROFILE=FILE before a "
                          "program's name makes it record",
                          likeness(first_line)))
      .at_file(path);
}

void check_version(const Json& header, const std::string& path) {
  const auto version = detail::json_integer<std::uint32_t>(header, "infeed_recording");
  if (version > kVersion)
    throw detail::later_format("the recording", version, kVersion).at_file(path);
}

/// Checks that the consumer of each stage exists, and so on until the training step.
void check_stages(const RecordedRun& run) {
  const auto count = static_cast<int>(run.stages.size());
  enum class Seen : char { no, now, before };
  std::vector<Seen> seen(run.stages.size(), Seen::no);
  for (int id = 0; id < count; ++id) {
    for (const Seen mark : {Seen::now, Seen::before}) {
      for (int at = id; at >= 0;) {
        Seen& known = seen[static_cast<std::size_t>(at)];
        if (known == Seen::before) break;
        const RecordedStage& stage = run.stages[static_cast<std::size_t>(at)];
        if (known == mark || stage.consumer >= count || stage.inside >= count) {
          throw Error(ErrorCode::data_loss,
                      fmt::format("the recording is damaged: stage {} is {}", at,
                                  known == mark ? "pulled by what it pulls"
                                                : "pulled by one that isn't there"))
              .at_file(run.path);
        }
        known = mark;
        at = stage.consumer;
      }
    }
  }
}

Json parsed(const std::string& line) {
  if (line.size() > limits::recorded_line_bytes ||
      detail::exceeds_json_limits(line, limits::recorded_line_values)) {
    throw Error(ErrorCode::data_loss,
                fmt::format("it has more than {} bytes or {} values, the limits, or is nested too "
                            "deeply",
                            limits::recorded_line_bytes, limits::recorded_line_values));
  }
  return Json::parse(line);
}

Error damaged(const std::string& path, std::size_t number, const std::string& why) {
  return Error(ErrorCode::data_loss,
               fmt::format("line {} of the recording is damaged ({}); the lines before it are "
                           "readable: head -n {} makes a file of them",
                           number, why, number - 1))
      .at_file(path);
}

}  // namespace

std::uint64_t RecordedRun::end_ns() const {
  std::uint64_t last = windows.empty() ? 0 : windows.back().begin_ns + windows.back().length_ns;
  for (const RecordedStep& step : steps) last = std::max(last, step.end_ns());
  return last;
}

std::span<const RecordedStep> RecordedRun::detailed_steps() const {
  const auto first = std::ranges::partition_point(
      steps, [this](const RecordedStep& step) { return step.begin_ns < detail_from_ns; });
  return {first, steps.end()};
}

std::uint64_t RecordedRun::steps_taken() const {
  std::uint64_t count = 0;
  for (const RecordedStep& step : detailed_steps()) count += count_of(step);
  return count;
}

std::uint64_t RecordedRun::since_last_step_ns() const {
  if (steps.empty() || windows.empty()) return 0;
  const std::uint64_t until_ns = windows.back().begin_ns + windows.back().length_ns;
  return until_ns - std::min(until_ns, steps.back().end_ns());
}

RecordedRun parse_recorded_run(std::string_view text, const std::string& path,
                               const std::stop_token& stop) {
  RecordedRun run;
  run.path = path;
  run.is_cut = true;
  Reading reading(run);
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    throw_if_stopped(stop, "the recording was read");
    const std::size_t end = text.find('\n', at);
    const std::string line(text.substr(at, end - at));
    const bool is_cut = end == text.npos;
    ++number;
    if (number == 1) check_begin(path, line);
    at = is_cut ? text.size() : end + 1;
    try {
      const Json json = parsed(line);
      if (number == 1) check_version(json, path);
      reading.take(json);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::failed_precondition) throw;
      if (!is_cut) throw damaged(path, number, error.message());
    } catch (const std::bad_alloc&) {
      throw;  // is no damage
    } catch (const std::exception& error) {
      if (!is_cut) throw damaged(path, number, error.what());
    }
  }
  if (number == 0) check_begin(path, "");
  reading.end();
  check_stages(run);
  // Late steps stand in lines of their own.
  std::stable_sort(run.steps.begin(), run.steps.end(),
                   [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  std::ranges::stable_sort(run.tuning, {}, &RecordedTuning::at_ns);
  std::stable_sort(run.slow_calls.begin(), run.slow_calls.end(),
                   [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  return run;
}

RecordedRun read_recorded_run(const std::string& path, const std::stop_token& stop) {
  File file = File::open_to_read(path);
  const std::string begin = [&file] {
    std::string bytes(64, '\0');
    bytes.resize(file.read_at(0, bytes));
    return bytes;
  }();
  check_begin(path, begin);  // before a large foreign file is read
  return parse_recorded_run(read_file(path), path, stop);
}

}  // namespace infeed::tools
