#include "engine/recording/recorded_lines.h"

#include <fmt/format.h>
#include <iterator>

#include <infeed/detail/printable_text.h>

namespace infeed::detail {

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
        "{}, \"runs_ahead\": {}, \"is_random\": {}}}",
        i == 0 ? "" : ", ", ids.at(counters[i]), json_text(stage.name), json_text(stage.label),
        json_text(stage.path), id_at(stage.consumer), id_at(stage.inside), stage.runs_ahead,
        counters[i]->draws);
  }
  return line + "]}\n";
}

std::string line_of_window(const Window& window, std::uint64_t throttled_ns, const StageIds& ids) {
  std::uint64_t elements = 0;
  for (const Window::Stage& stage : window.stages) {
    if (stage.figures.consumer < 0) elements += stage.figures.elements;
  }
  std::string line = fmt::format(
      "{{\"window\": {{\"begin_ns\": {}, \"length_ns\": {}, \"elements\": {}, "
      "\"consumer_wait_ns\": {}, \"process_cpu_ns\": {}, \"throttled_ns\": {}, \"cores\": {:.2f}, "
      "\"cores_of_others\": {:.2f}, \"memory_bytes\": {}, \"memory_limit_bytes\": {}, "
      "\"memory_refusals\": {}, \"stages\": [",
      window.begin_ns, window.length_ns, elements, window.consumer_wait_ns, window.process_cpu_ns,
      throttled_ns, window.cores, window.cores_of_others, window.memory_bytes,
      window.memory_limit_bytes, window.memory_refusals);
  for (const Window::Stage& row : window.stages) {
    const StageStatistics& stage = row.figures;
    fmt::format_to(std::back_inserter(line), "{}[{},{},{},{},{},{},{},{},{},{},{}]",
                   &row == &window.stages.front() ? "" : ",", ids.at(row.counters), stage.elements,
                   stage.bytes, stage.cpu_ns.value_or(0), stage.blocked_ns.value_or(0),
                   stage.wait_ns, stage.full_ns, stage.buffered_elements, stage.buffered_bytes,
                   stage.queue_elements_max, stage.parallelism);
  }
  return line + "]}}\n";
}

}  // namespace infeed::detail
