#include "profile/outputs/profile_html.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include <infeed/detail/printable_text.h>

#include "profile/outputs/page_parts.h"
#include "profile/outputs/profile_figures.h"
#include "profile/outputs/profile_json.h"

namespace infeed::tools {
namespace {

constexpr std::size_t kBarsMax = 600;
constexpr std::size_t kTimesMax = 240;
constexpr std::size_t kLateStepsMax = 500;
constexpr std::size_t kTuningMax = 500;

using PageJson = nlohmann::ordered_json;

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (std::size_t at = 0;;) {
    const std::size_t found = text.find(from, at);
    result += text.substr(at, found - at);
    if (found == text.npos) return result;
    result += to;
    at = found + from.size();
  }
}

/// Returns what the page shows of the report: the late steps that cost most, no windows.
ProfileReport with_fewer_late_steps(const ProfileReport& report) {
  ProfileReport fewer = report;
  if (fewer.late_steps.size() <= kLateStepsMax) return fewer;
  std::vector<LateStep>& late = fewer.late_steps;
  std::nth_element(late.begin(), late.begin() + kLateStepsMax, late.end(),
                   [](const LateStep& a, const LateStep& b) { return a.late_ns > b.late_ns; });
  late.resize(kLateStepsMax);
  std::sort(late.begin(), late.end(),
            [](const LateStep& a, const LateStep& b) { return a.step < b.step; });
  return fewer;
}

PageJson report_of_page(const RecordedRun& run, const ProfileReport& report,
                        const ProfileReport& fewer, const std::stop_token& stop) {
  PageJson json = profile_json(run, report, stop);
  if (fewer.late_steps.size() < report.late_steps.size()) {
    json["late_steps"] = profile_json(run, fewer, stop)["late_steps"];
  }
  json["late_steps_total"] = report.late_steps.size();
  json.erase("windows");
  json.erase("slow_calls");
  PageJson& tuning = json["tuning"];
  if (tuning.size() > kTuningMax) {
    tuning.erase(tuning.begin(), tuning.end() - static_cast<std::ptrdiff_t>(kTuningMax));
  }
  return json;
}

/// Returns the length above which bars are cut, so that a step of seconds doesn't press all others
/// against the floor; 0: none is. `lengths` has at least one.
std::uint64_t cut_above_ns(const std::vector<std::uint64_t>& lengths, std::uint64_t slowest_ns) {
  constexpr std::uint64_t kTimes = 5;
  const std::uint64_t middle = middle_of(lengths);
  const std::uint64_t most = std::max(slowest_ns, *std::ranges::max_element(lengths));
  return most / (2 * kTimes) > middle ? kTimes * middle : 0;
}

/// Bars of steps: the numbers and begins of their first steps, the mean of each part, and for each
/// late step [its bar, its index among the late ones].
PageJson timeline_of(const RecordedRun& run, const ProfileReport& fewer) {
  const std::size_t steps_per_bar =
      std::max<std::size_t>((run.steps.size() + kBarsMax - 1) / kBarsMax, 1);
  PageJson timeline = {{"steps_per_bar", steps_per_bar}};
  PageJson numbers = PageJson::array(), begins = PageJson::array(), late = PageJson::array();
  std::array<PageJson, kStepParts.size()> parts;
  parts.fill(PageJson::array());
  const std::vector<int> late_index = late_index_by_step(run, fewer);
  std::vector<std::uint64_t> lengths;
  std::uint64_t slowest_late_ns = 0;
  for (const LateStep& one : fewer.late_steps)
    slowest_late_ns = std::max(slowest_late_ns, one.length_ns);
  for (std::size_t first = 0; first < run.steps.size(); first += steps_per_bar) {
    const std::size_t end = std::min(first + steps_per_bar, run.steps.size());
    lengths.push_back(0);
    for (std::size_t part = 0; part < kStepParts.size(); ++part) {
      std::uint64_t sum = 0;
      for (std::size_t i = first; i < end; ++i) sum += run.steps[i].*kStepParts[part].of_step;
      parts[part].push_back(sum / (end - first));
      lengths.back() += sum / (end - first);
    }
    for (std::size_t i = first; i < end; ++i) {
      if (late_index[i] >= 0) late.push_back({numbers.size(), late_index[i]});
    }
    numbers.push_back(run.steps[first].number);
    begins.push_back(run.steps[first].begin_ns);
  }
  timeline["steps"] = std::move(numbers);
  timeline["begin_ns"] = std::move(begins);
  timeline["parts_ns"] = parts;
  timeline["late"] = std::move(late);
  timeline["cut_above_ns"] = lengths.empty() ? 0 : cut_above_ns(lengths, slowest_late_ns);
  return timeline;
}

/// Returns what stages held and had over time, several windows as one: the most memory, the last
/// parallelism.
PageJson windows_of(const RecordedRun& run) {
  const std::size_t together =
      std::max<std::size_t>((run.windows.size() + kTimesMax - 1) / kTimesMax, 1);
  const std::size_t times = (run.windows.size() + together - 1) / together;
  std::vector<std::vector<std::uint64_t>> memory(run.stages.size(),
                                                 std::vector<std::uint64_t>(times));
  std::vector<std::vector<int>> parallelism(run.stages.size(), std::vector<int>(times));
  std::vector<std::uint64_t> begins(times);
  std::uint64_t limit = 0;
  for (std::size_t i = 0; i < run.windows.size(); ++i) {
    const std::size_t at = i / together;
    if (i % together == 0) begins[at] = run.windows[i].begin_ns;
    limit = std::max(limit, run.windows[i].memory_limit_bytes);
    for (const StageWindow& stage : run.windows[i].stages) {
      if (!is_stage(run, stage.stage)) continue;
      const auto id = static_cast<std::size_t>(stage.stage);
      memory[id][at] = std::max(memory[id][at], stage.buffered_bytes);
      parallelism[id][at] = stage.parallelism;
    }
  }
  PageJson ids = PageJson::array();
  for (std::size_t id = 0; id < run.stages.size(); ++id) ids.push_back(id);
  return {{"begin_ns", begins},
          {"stages", std::move(ids)},
          {"memory_bytes", memory},
          {"parallelism", parallelism},
          {"memory_limit_bytes", limit}};
}

/// Replaces characters that a terminal would act on: they may turn the direction of writing, too.
PageJson with_printable_strings(const PageJson& json) {
  if (json.is_string()) return detail::printable_text(json.get_ref<const std::string&>());
  if (!json.is_structured()) return json;
  PageJson result = json.is_array() ? PageJson::array() : PageJson::object();
  for (const auto& item : json.items()) {
    if (json.is_array()) {
      result.push_back(with_printable_strings(item.value()));
    } else {
      result[item.key()] = with_printable_strings(item.value());
    }
  }
  return result;
}

/// Escapes JSON for a script element: a "<" in a name might end or open an element.
std::string inside_script(const PageJson& json) {
  return replaced(with_printable_strings(json).dump(), "<", "\\u003c");
}

std::string inside_element(const std::string& text) {
  std::string escaped = detail::printable_text(text);
  for (const auto& [from, to] : {std::pair{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}}) {
    escaped = replaced(escaped, from, to);
  }
  return escaped;
}

/// A library's own text may hold the end of a script element in a string.
std::string script(std::string_view text) { return replaced(text, "</script", "<\\/script"); }

}  // namespace

std::string profile_html(const RecordedRun& run, const ProfileReport& report,
                         const std::stop_token& stop) {
  const ProfileReport fewer = with_fewer_late_steps(report);
  const PageJson data = {{"report", report_of_page(run, report, fewer, stop)},
                         {"timeline", timeline_of(run, fewer)},
                         {"windows", windows_of(run)}};
  const std::array<std::pair<std::string_view, std::string>, 8> places{{
      {"@TITLE@", inside_element("Profile of " + run_text(run))},
      {"@STYLE@", std::string(page_style())},
      {"@VERDICT@", inside_element(report.verdict)},
      {"@RUN@", inside_element(run_text(run))},
      {"@DATA@", inside_script(data)},
      {"@LIBRARY@", script(page_library())},
      {"@CHARTS@", script(page_charts())},
      {"@SCRIPT@", script(page_script())},
  }};
  // All places are filled in one pass, as a name may look like such a place.
  std::string page;
  std::string_view rest = page_frame();
  for (const auto& [place, text] : places) {
    const std::size_t at = rest.find(place);
    page += rest.substr(0, at);
    page += text;
    rest.remove_prefix(at + place.size());
  }
  return page + std::string(rest);
}

}  // namespace infeed::tools
