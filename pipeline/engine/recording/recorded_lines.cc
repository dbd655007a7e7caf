#include "engine/recording/recorded_lines.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

#include <infeed/detail/printable_text.h>

#include "engine/iterator_context.h"
#include "engine/threads/cpu_limits.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t kLimitsEveryNs = 1'000'000'000;

std::uint64_t growth(std::uint64_t now, std::uint64_t before) {
  return now - std::min(now, before);
}

/// The part of the work that was on a core, by the samples so far.
std::uint64_t cpu_of(const StageStatistics& total, std::uint64_t work_ns) {
  if (!total.cpu_ns || total.work_ns == 0) return work_ns;
  const double share = static_cast<double>(*total.cpu_ns) / static_cast<double>(total.work_ns);
  return static_cast<std::uint64_t>(std::min(1.0, share) * static_cast<double>(work_ns));
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : utf8_name(text)) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string line_of_steps(std::string_view kind, const std::vector<RecordedStepRow>& rows,
                          bool are_measured) {
  std::string line = fmt::format("{{\"{}\": [", kind);
  std::string names;
  for (const RecordedStepRow& row : rows) {
    if (&row != &rows.front()) line += ',';
    fmt::format_to(std::back_inserter(line), "[{},{},{},{},{},{},{},{}]", row.number, row.begin_ns,
                   row.infeed_wait_ns, row.transfer_ns, row.compute_ns, row.all_reduce_ns,
                   row.idle_ns, row.elements);
    if (row.name.empty()) continue;
    names +=
        fmt::format("{}\"{}\": {}", names.empty() ? "" : ", ", row.number, json_text(row.name));
  }
  line += fmt::format("], \"measured\": {}", are_measured);
  if (!names.empty()) line += ", \"names\": {" + names + '}';
  return line + "}\n";
}

std::string line_of_slow_call(std::string_view kind, const RecordedSlowCall& call, int stage) {
  std::string line = fmt::format(
      "{{\"{}\": {{\"begin_ns\": {}, \"took_ns\": {}, \"cpu_ns\": {}, \"preempted_ns\": {}, "
      "\"stage\": {}, \"position\": {}, \"count\": {}, \"pass\": {}, \"thread\": {}",
      kind, call.begin_ns, call.took_ns, call.cpu_ns, call.preempted_ns, stage, call.position,
      call.count, call.pass, call.thread);
  if (*call.waited_in != '\0') line += fmt::format(", \"waited_in\": \"{}\"", call.waited_in);
  if (const auto& place = call.traced.place) {
    line += fmt::format(", \"file\": {}, \"record\": {}, \"records\": {}", json_text(place->file),
                        place->record, place->count);
    if (place->offset) line += fmt::format(", \"offset\": {}", *place->offset);
  } else {
    line += ", \"untraceable\": " + json_text(call.traced.why());
  }
  return line + "}}\n";
}

std::string line_of_stages(const std::vector<StageStatistics>& stages,
                           const std::vector<const StageCounters*>& counters, const StageIds& ids) {
  const auto id_at = [&](int index) {
    return index < 0 ? -1 : ids.at(counters[static_cast<std::size_t>(index)]);
  };
  std::string line = "{\"stages\": [";
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageStatistics& stage = stages[i];
    line += fmt::format(
        "{}{{\"id\": {}, \"name\": {}, \"label\": {}, \"path\": {}, \"consumer\": {}, \"inside\": "
        "{}, \"runs_ahead\": {}}}",
        i == 0 ? "" : ", ", ids.at(counters[i]), json_text(stage.name), json_text(stage.label),
        json_text(stage.path), id_at(stage.consumer), id_at(stage.inside), stage.runs_ahead);
  }
  return line + "]}\n";
}

WindowMaker::Window WindowMaker::look(std::uint64_t now_ns, std::uint64_t throttled_ns) {
  stages_.clear();
  PipelineStatistics now = run_.counters().statistics(&stages_);
  Window window;
  window.begin_ns = before_ns_;
  window.length_ns = growth(now_ns, std::exchange(before_ns_, now_ns));
  window.consumer_wait_ns = growth(now.consumer_wait_ns, before_.consumer_wait_ns);
  window.process_cpu_ns = growth(now.process_cpu_ns, before_.process_cpu_ns);
  window.throttled_ns = throttled_ns;
  if (cores_ == 0 || now_ns - limits_read_at_ns_ > kLimitsEveryNs) {
    cores_ = usable_cpu_time();
    limits_read_at_ns_ = now_ns;
  }
  window.cores = cores_;
  const std::uint64_t machine_ns = machine_busy_ns();
  const std::uint64_t machine_before_ns = std::exchange(machine_before_ns_, machine_ns);
  if (machine_before_ns != 0 && window.length_ns != 0) {
    window.cores_of_others =
        static_cast<double>(growth(growth(machine_ns, machine_before_ns), window.process_cpu_ns)) /
        static_cast<double>(window.length_ns);
  }
  window.memory_bytes = run_.memory().in_use_bytes();
  window.memory_limit_bytes = run_.memory().limit_bytes();
  const std::uint64_t refusals = run_.memory().refusals();
  window.memory_refusals = growth(refusals, std::exchange(refusals_before_, refusals));
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const StageStatistics& total = now.stages[i];
    StageStatistics& before = stages_before_[stages_[i]];
    StageStatistics row = total;
    row.elements = growth(total.elements, before.elements);
    row.bytes = growth(total.bytes, before.bytes);
    row.work_ns = growth(total.work_ns, before.work_ns);
    row.cpu_ns = cpu_of(total, row.work_ns);
    row.blocked_ns = row.work_ns - std::min(row.work_ns, *row.cpu_ns);
    row.wait_ns = growth(total.wait_ns, before.wait_ns);
    row.full_ns = growth(total.full_ns, before.full_ns);
    if (row.consumer < 0) window.elements += row.elements;
    before = total;
    window.stages.push_back({stages_[i], std::move(row)});
  }
  before_ = std::move(now);
  return window;
}

std::string line_of_window(const WindowMaker::Window& window, const StageIds& ids) {
  std::string line = fmt::format(
      "{{\"window\": {{\"begin_ns\": {}, \"length_ns\": {}, \"elements\": {}, "
      "\"consumer_wait_ns\": {}, \"process_cpu_ns\": {}, \"throttled_ns\": {}, \"cores\": {:.2f}, "
      "\"cores_of_others\": {:.2f}, \"memory_bytes\": {}, \"memory_limit_bytes\": {}, "
      "\"memory_refusals\": {}, \"stages\": [",
      window.begin_ns, window.length_ns, window.elements, window.consumer_wait_ns,
      window.process_cpu_ns, window.throttled_ns, window.cores, window.cores_of_others,
      window.memory_bytes, window.memory_limit_bytes, window.memory_refusals);
  for (const WindowMaker::StageRow& row : window.stages) {
    const StageStatistics& stage = row.figures;
    fmt::format_to(std::back_inserter(line), "{}[{},{},{},{},{},{},{},{},{},{},{}]",
                   &row == &window.stages.front() ? "" : ",", ids.at(row.stage), stage.elements,
                   stage.bytes, stage.cpu_ns.value_or(0), stage.blocked_ns.value_or(0),
                   stage.wait_ns, stage.full_ns, stage.buffered_elements, stage.buffered_bytes,
                   stage.queue_elements_max, stage.parallelism);
  }
  return line + "]}}\n";
}

}  // namespace infeed::detail
