#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <string_view>

#include <infeed/detail/printable_text.h>

#include "cli/terminal.h"
#include "plan/plan_outputs.h"

namespace infeed::tools {
namespace {

constexpr double kWidth = 720, kHeight = 380;
constexpr double kLeft = 64, kRight = 24, kTop = 56, kBottom = 84;

constexpr std::string_view kStyle =
    "text { font: 13px sans-serif; fill: #333 } .title { font-weight: bold } .grid { stroke: #ddd "
    "} "
    ".recorded { stroke: #c0392b; fill: none; stroke-width: 2 } "
    ".need { stroke: #2471a3; fill: none; stroke-width: 2 } "
    ".target { stroke: #888; stroke-dasharray: 6 4 } .measured { fill: #111; stroke: #fff } "
    "rect { fill: #fff } @media (prefers-color-scheme: dark) { rect { fill: #16181d } "
    "text { fill: #ddd } .grid { stroke: #333 } .measured { fill: #fff; stroke: #111 } }";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : detail::printable_text(text)) {
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return result;
}

/// The picture's axes: hosts double at equal distances, the duty cycle begins below its least.
class Axes {
 public:
  explicit Axes(const Plan& plan) : hosts_max_(plan.rows.back().hosts) {
    double least = plan.duty_cycle;
    for (const PlannedHosts& row : plan.rows) least = std::min(least, row.as_recorded.duty_cycle);
    for (const MeasuredHosts& run : plan.measured) {
      least = std::min(least, run.duty_cycle);
      hosts_max_ = std::max(hosts_max_, run.hosts);
    }
    const double span = 1 - least;
    tick_ = span > 0.4 ? 0.2 : span > 0.15 ? 0.1 : span > 0.05 ? 0.02 : 0.01;
    least_ = std::max(0.0, std::floor(least / tick_ - 0.2) * tick_);
  }
  double x(double hosts) const {
    const double all = std::max(1.0, std::log2(hosts_max_));
    return kLeft + std::log2(hosts) / all * (kWidth - kLeft - kRight);
  }
  double y(double duty) const {
    return kHeight - kBottom - (duty - least_) / (1 - least_) * (kHeight - kTop - kBottom);
  }
  double least() const { return least_; }
  double tick() const { return tick_; }

 private:
  int hosts_max_;
  double tick_ = 0.1;
  double least_ = 0;
};

std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view kind = "label") {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                     kind, x, y, anchor, escaped(text));
}

std::string line_at(std::string_view kind, double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind, x1,
      y1, x2, y2);
}

/// Returns a line through the rows that have a set-up, with a point and its figures for each.
std::string curve(const Plan& plan, const Axes& axes, std::string_view kind,
                  const std::function<const HostSetUp*(const PlannedHosts&)>& set_up_of) {
  std::string points;
  std::string marks;
  for (const PlannedHosts& row : plan.rows) {
    const HostSetUp* const set_up = set_up_of(row);
    if (set_up == nullptr) continue;
    const double x = axes.x(row.hosts);
    const double y = axes.y(set_up->duty_cycle);
    points += fmt::format("{:.1f},{:.1f} ", x, y);
    marks += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>{} hosts: {:.1f} %, {:g} "
        "cores, queue of {}</title></circle>\n",
        kind, x, y, with_commas(row.hosts), 100 * set_up->duty_cycle, set_up->cores,
        set_up->queue_depth);
  }
  if (points.empty()) return {};
  points.pop_back();
  return fmt::format("<polyline class=\"{}\" points=\"{}\"/>\n", kind, points) + marks;
}

std::string grid(const Plan& plan, const Axes& axes) {
  std::string svg;
  for (double duty = axes.least(); duty < 1 + axes.tick() / 2; duty += axes.tick()) {
    svg += line_at("grid", kLeft, axes.y(duty), kWidth - kRight, axes.y(duty));
    svg += text_at(kLeft - 8, axes.y(duty) + 4, "end", fmt::format("{:.0f} %", 100 * duty));
  }
  for (const PlannedHosts& row : plan.rows) {
    svg += text_at(axes.x(row.hosts), kHeight - kBottom + 20, "middle", with_commas(row.hosts));
  }
  svg += text_at((kLeft + kWidth - kRight) / 2, kHeight - kBottom + 40, "middle", "hosts");
  return svg;
}

std::string legend(const Plan& plan) {
  const HostSetUp& recorded = plan.rows.front().as_recorded;
  const double y = kHeight - 16;
  std::string svg = line_at("recorded", kLeft, y - 4, kLeft + 24, y - 4);
  svg += text_at(
      kLeft + 30, y, "start",
      fmt::format("as recorded: {:g} cores, queue of {}", recorded.cores, recorded.queue_depth));
  svg += line_at("need", kLeft + 270, y - 4, kLeft + 294, y - 4);
  svg += text_at(kLeft + 300, y, "start", "as planned");
  if (plan.measured.empty()) return svg;
  svg +=
      fmt::format("<circle class=\"measured\" cx=\"{}\" cy=\"{}\" r=\"5\"/>\n", kLeft + 412, y - 4);
  return svg + text_at(kLeft + 424, y, "start", "measured");
}

}  // namespace

std::string plan_svg(const Plan& plan) {
  const Axes axes(plan);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n<style>{2}</style>\n<title>{3}</title>\n<rect width=\"{0}\" "
      "height=\"{1}\"/>\n",
      kWidth, kHeight, kStyle, escaped(plan.verdict));
  svg += text_at(kLeft, 24, "start", "Duty cycle of the devices, by the number of hosts", "title");
  svg += grid(plan, axes);
  svg +=
      line_at("target", kLeft, axes.y(plan.duty_cycle), kWidth - kRight, axes.y(plan.duty_cycle));
  svg += curve(plan, axes, "recorded", [](const PlannedHosts& row) { return &row.as_recorded; });
  svg += curve(plan, axes, "need",
               [](const PlannedHosts& row) { return row.need ? &*row.need : nullptr; });
  for (const MeasuredHosts& run : plan.measured) {
    svg += fmt::format(
        "<circle class=\"measured\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"><title>{}: {:.1f} %, {}"
        "</title></circle>\n",
        axes.x(run.hosts), axes.y(run.duty_cycle),
        counted(static_cast<std::uint64_t>(run.hosts), "host"), 100 * run.duty_cycle,
        escaped(run.file));
  }
  return svg + legend(plan) + "</svg>\n";
}

}  // namespace infeed::tools
