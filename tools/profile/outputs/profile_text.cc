#include "profile/outputs/profile_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <string_view>
#include <utility>

#include "cli/printable.h"
#include "profile/outputs/profile_figures.h"

namespace infeed::tools {
namespace {

constexpr int kColumnsMin = 80;
constexpr int kColumnsMax = 100;
constexpr std::size_t kLateStepsShown = 8;
constexpr std::size_t kStallsShown = 6;
// The verdicts of TensorFlow's input-pipeline analyser change at these.
constexpr double kHighlyBoundPercent = 20;
constexpr double kModeratelyBoundPercent = 5;

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

/// fmt's width counts what a terminal may not; our names are plain enough for characters.
std::string padded(std::string text, std::size_t width) {
  const std::size_t used = text_width(text);
  if (used < width) text.append(width - used, ' ');
  return text;
}

std::string fitted(std::string_view name, std::size_t width) {
  if (text_width(name) <= width) {
    const std::string whole = printable(name, static_cast<int>(2 * width));
    if (text_width(whole) <= width) return padded(whole, width);
  }
  // An escape may be one character wider than printable() counts for each.
  for (int room = static_cast<int>(width) - 3;; room = std::max(room - 1, 0)) {
    const std::string cut = printable(name, room);
    if (text_width(cut) <= width || room == 0) return padded(cut, width);
  }
}

/// Lines of at most `width` characters, cut between words where that is possible.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  const std::string whole = printable(text, 4000);
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t end = std::min(whole.find(' ', at), whole.size());
    std::string word = whole.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && text_width(line) + 1 + text_width(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    while (text_width(word) > width) {
      std::size_t cut = width;
      while (cut > 1 && (static_cast<unsigned char>(word[cut]) >> 6) == 2) --cut;
      lines.push_back(word.substr(0, cut));
      word.erase(0, cut);
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string rate_text(double per_s) {
  if (!(per_s > 0)) return "-";
  return per_s < 100 ? fmt::format("{:.3g}", per_s) : with_commas(std::llround(per_s));
}

std::string gain_text(double gain) { return fmt::format("{:+.0f} %", 100 * gain); }

class TextReport {
 public:
  TextReport(const RecordedRun& run, const ProfileReport& report, const Terminal& terminal)
      : run_(run),
        report_(report),
        terminal_(terminal),
        width_(static_cast<std::size_t>(std::clamp(terminal.columns(), kColumnsMin, kColumnsMax))) {
  }

  std::vector<std::string> lines() && {
    head();
    steps();
    stages();
    late_steps();
    headroom();
    what_ifs();
    tried();
    replays();
    return std::move(lines_);
  }

 private:
  void add(std::string line) { lines_.push_back(std::move(line)); }
  void add_wrapped(std::string_view text, std::size_t indent, Paint paint = Paint::plain) {
    for (const std::string& line : wrapped(text, width_ - indent)) {
      add(std::string(indent, ' ') + terminal_.paint(paint, line));
    }
  }
  void title(std::string_view text) {
    add("");
    add(terminal_.paint(Paint::bold, text));
  }

  void head() {
    add_wrapped(run_text(run_), 0, Paint::dim);
    if (run_.dropped_events > 0) {
      add_wrapped(fmt::format("{} events came too quickly to be recorded",
                              with_commas(run_.dropped_events)),
                  0, Paint::warning);
    }
    add("");
    const double percent = report_.input_bound_percent;
    const Paint paint = percent >= kHighlyBoundPercent       ? Paint::bad
                        : percent >= kModeratelyBoundPercent ? Paint::warning
                                                             : Paint::good;
    add_wrapped(report_.verdict, 0, paint);
  }

  void steps() {
    const std::uint64_t all = steps_ns(report_);
    if (run_.steps.empty() || all == 0) {
      add("");
      add("No step was recorded.");
      return;
    }
    title(fmt::format("Where the time of {} {} goes", with_commas(run_.steps_taken()),
                      run_.has_steps ? "steps" : "calls of next()"));
    constexpr std::array<std::string_view, 5> kCells{"█", "▓", "▒", "░", "·"};
    constexpr std::array<std::string_view, 5> kLetters{"W", "T", "C", "A", "."};
    constexpr std::array<Paint, 5> kPaints{Paint::bad, Paint::warning, Paint::good, Paint::plain,
                                           Paint::dim};
    const auto cells = static_cast<double>(width_ - 4);
    std::string bar = "  ", legend = "  ";
    double until = 0;
    int drawn = 0;
    for (std::size_t i = 0; i < kStepParts.size(); ++i) {
      const std::uint64_t part = report_.*kStepParts[i].of_run;
      const std::string cell(terminal_.either(kCells[i], kLetters[i]));
      until += static_cast<double>(part) / static_cast<double>(all);
      const int end = static_cast<int>(std::lround(until * cells));
      std::string run_of_cells;
      for (; drawn < end; ++drawn) run_of_cells += cell;
      bar += terminal_.paint(kPaints[i], run_of_cells);
      if (part == 0) continue;
      legend +=
          terminal_.paint(kPaints[i], cell) +
          fmt::format(" {} {:.1f} %   ", kStepParts[i].words, percent_of_steps(report_, part));
    }
    add(bar);
    add(legend.substr(0, legend.find_last_not_of(' ') + 1));
    const bool are_together = run_.steps_taken() > run_.detailed_steps().size();
    add_wrapped(
        fmt::format(
            "typical step {}, slowest {}; {} steps and {} elements a second{}",
            duration_text(report_.typical_step_ns), duration_text(report_.slowest_step_ns),
            rate_text(report_.steps_per_s), rate_text(report_.elements_per_s),
            are_together ? " (lengths and late steps are of calls within 1 ms together)" : ""),
        2);
  }

  void stages() {
    if (report_.stages.empty()) return;
    title("Stages, from the training step to the sources");
    const std::size_t name_width = width_ - 72;
    add(terminal_.paint(Paint::dim,
                        fmt::format("  {} {:>10} {:>10} {:>6} {:>7} {:>6} {:>6} {:>3} {:>4} {:>9}",
                                    padded("", name_width), "elements/s", "could give", "cpu",
                                    "blocked", "wait", "full", "par", "fill", "memory")));
    const std::vector<StageTotals> totals = stage_totals(run_);
    const auto all = static_cast<double>(std::max<std::uint64_t>(windows_ns(run_), 1));
    const auto share = [&](std::uint64_t ns) {
      return ns == 0 ? "-" : fmt::format("{:.0f} %", 100 * static_cast<double>(ns) / all);
    };
    for (const StageShare& stage : report_.stages) {
      if (!is_stage(run_, stage.stage)) continue;
      const double fill = totals[static_cast<std::size_t>(stage.stage)].queue_fill;
      const std::string indent(std::min<std::size_t>(chain_to(run_, stage.stage).size() - 1, 8),
                               ' ');
      const std::string mark(stage.is_bottleneck ? terminal_.either("▶", ">") : " ");
      const std::string line = fmt::format(
          "{} {} {:>10} {:>10} {:>6} {:>7} {:>6} {:>6} {:>3} {:>4} {:>9}", mark,
          fitted(indent + label_of(run_, stage.stage), name_width), rate_text(stage.elements_per_s),
          rate_text(stage.elements_per_s_max), share(stage.cpu_ns), share(stage.blocked_ns),
          share(stage.wait_ns), share(stage.full_ns), stage.parallelism,
          fill < 0 ? "-" : fmt::format("{:.0f}%", 100 * fill),
          stage.memory_bytes_peak == 0 ? "-" : as_megabytes(stage.memory_bytes_peak));
      add(stage.is_bottleneck ? terminal_.paint(Paint::bad, line) : line);
    }
    add_wrapped(
        "cpu and blocked: its own work on and off a core, over all its threads; wait: its "
        "consumer waited for it; full: it waited for room; in percent of the run",
        2, Paint::dim);
  }

  void late_steps() {
    const std::vector<Stall> stalls = stalls_of(report_);
    if (stalls.empty()) {
      if (!run_.steps.empty()) {
        add("");
        add("No step was late.");
      }
      return;
    }
    std::uint64_t late_ns = 0;
    for (const Stall& stall : stalls) late_ns += stall.late_ns;
    const auto older = std::ranges::count_if(report_.late_steps, [this](const LateStep& late) {
      return late.begin_ns < run_.detail_from_ns;
    });
    title(fmt::format("{} of {} {} were late{}, by {} together",
                      with_commas(std::ssize(report_.late_steps) - older),
                      with_commas(run_.steps_taken()), run_.has_steps ? "steps" : "calls of next()",
                      older == 0 ? "" : fmt::format(", and {} older ones", with_commas(older)),
                      duration_text(late_ns)));
    for (std::size_t i = 0; i < std::min(stalls.size(), kStallsShown); ++i) {
      const Stall& stall = stalls[i];
      const double share = static_cast<double>(stall.late_ns) /
                           static_cast<double>(std::max<std::uint64_t>(late_ns, 1));
      std::string kind = words_of(stall.cause);
      if (is_stage(run_, stall.stage)) kind += " in " + label_of(run_, stall.stage);
      const std::string line = fmt::format(
          "  {} {:>9}  {:>5} {:5}  {}", terminal_.bar(share, 20), duration_text(stall.late_ns),
          with_commas(stall.steps), stall.steps == 1 ? "step" : "steps", fitted(kind, width_ - 48));
      add(line.substr(0, line.find_last_not_of(' ') + 1));
    }
    if (stalls.size() > kStallsShown) {
      add(fmt::format("  and {} more kinds", stalls.size() - kStallsShown));
    }
    slowest_steps();
  }

  void slowest_steps() {
    std::vector<const LateStep*> slowest;
    for (const LateStep& late : report_.late_steps) slowest.push_back(&late);
    std::stable_sort(slowest.begin(), slowest.end(),
                     [](const LateStep* a, const LateStep* b) { return a->late_ns > b->late_ns; });
    const std::size_t shown = std::min(slowest.size(), kLateStepsShown);
    title(shown < slowest.size() ? fmt::format("The {} that cost most", shown) : "They are");
    for (std::size_t i = 0; i < shown; ++i) {
      const LateStep& late = *slowest[i];
      add(fmt::format("  step {:>9}  {:>8}, {} late: {}", with_commas(late.step),
                      duration_text(late.length_ns), duration_text(late.late_ns),
                      terminal_.paint(Paint::bold, words_of(late.cause))));
      add_wrapped(late.sentence, 18);
      const SlowCall* const call = slow_call_of(run_, late);
      // The sentence mostly names the record already, or says why none can be named.
      if (call == nullptr ||
          late.sentence.find(call->place ? call->place->file : call->untraceable) !=
              std::string::npos) {
        continue;
      }
      add_wrapped(origin_text(*call), 18, Paint::dim);
    }
  }

  void headroom() {
    const double pipeline = report_.pipeline_steps_per_s_max;
    const double device = report_.device_steps_per_s_max;
    const double most = std::max({pipeline, device, report_.steps_per_s});
    if (!(pipeline > 0 || device > 0)) return;
    title("Headroom, in steps a second");
    const auto row = [&](std::string_view name, double rate) {
      if (!(rate > 0)) return;
      add(fmt::format("  {:44} {:>8}  {}", name, rate_text(rate),
                      terminal_.bar(rate / most, static_cast<int>(width_) - 60)));
    };
    row("this run", report_.steps_per_s);
    row("the pipeline, with an infinitely fast device", pipeline);
    row("the device, with an infinitely fast pipeline", device);
  }

  void what_ifs() {
    if (report_.what_ifs.empty()) return;
    title("What would help");
    add(terminal_.paint(Paint::dim, fmt::format("  {:>9} {:>7}", "predicted", "tried")));
    for (const WhatIf& what_if : report_.what_ifs) {
      const std::string tried = what_if.tried_gain ? gain_text(*what_if.tried_gain) : "-";
      const std::vector<std::string> change = wrapped(what_if.change, width_ - 22);
      add(fmt::format("  {:>9} {:>7}  {}", gain_text(what_if.predicted_gain), tried,
                      terminal_.paint(Paint::bold, change.empty() ? "" : change.front())));
      for (std::size_t i = 1; i < change.size(); ++i) add(std::string(22, ' ') + change[i]);
      add_wrapped(what_if.how, 22);
      add_wrapped(what_if.note, 22, Paint::dim);
    }
  }

  /// Lists what INFEED_TRY=1 made the program try: the recording has it in the tuner's log.
  void tried() {
    bool has_title = false;
    for (const RecordedTuning& line : run_.tuning) {
      const bool is_try = line.text.find(": a try;") != std::string::npos &&
                          line.text.find("under way") == std::string::npos;
      if (!is_try && !line.text.starts_with("INFEED_TRY:")) continue;
      if (!std::exchange(has_title, true)) title("Tried while it ran");
      add_wrapped(std::string_view(line.text).substr(line.text.find_first_not_of(' ')), 2);
    }
    if (has_title || !report_.program_tries) return;
    title("Tried while it ran");
    add_wrapped(
        "nothing: no stage has a setting marked autotune, or the program ended before its tuner "
        "had "
        "settled. That takes up to 10 s, and each try 3 s; let it run for a minute",
        2);
  }

  void replays() {
    for (const ReplayedRun& replayed : report_.replays) {
      title(replay_title(replayed));
      for (const std::string& sentence : replay_sentences(replayed, report_.steps_per_s)) {
        add_wrapped(sentence, 2);
      }
    }
  }

  const RecordedRun& run_;
  const ProfileReport& report_;
  const Terminal& terminal_;
  const std::size_t width_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> profile_text(const RecordedRun& run, const ProfileReport& report,
                                      const Terminal& terminal) {
  return TextReport(run, report, terminal).lines();
}

}  // namespace infeed::tools
