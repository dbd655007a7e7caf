#include "train/train_report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <sstream>

namespace infeed::tools {
namespace {

/// Width of all columns but the bar: 80 columns leave room for a short one.
constexpr int kFixedWidth = 74;
constexpr int kLearningFixedWidth = 42;
/// Ends of the track on which test accuracy is marked.
constexpr double kAccuracyLow = 0.70;
constexpr double kAccuracyHigh = 0.95;

Paint paint_of(InputVerdict verdict) {
  switch (verdict) {
    case InputVerdict::not_bound:
      return Paint::good;
    case InputVerdict::moderately_bound:
      return Paint::warning;
    case InputVerdict::highly_bound:
      return Paint::bad;
  }
  return Paint::plain;
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

}  // namespace

void print_account(const FitResult& fit, Terminal& terminal) {
  if (fit.wall.steps == 0) return;
  std::istringstream lines(fit.table());
  for (std::string line; std::getline(lines, line);) terminal.line("  " + line);
}

void print_notes(const std::vector<std::string>& notes, Terminal& terminal) {
  for (auto note = notes.begin(); note != notes.end(); ++note) {
    if (std::find(notes.begin(), note, *note) != note) continue;
    const auto times = std::count(note, notes.end(), *note);
    terminal.line(fmt::format("  autotune: {}{}", *note,
                              times == 1 ? std::string() : fmt::format(" ({} times)", times)));
  }
}

void print_trick_gains(const std::vector<TrickGain>& gains, Terminal& terminal) {
  terminal.line(
      terminal.paint(Paint::dim, fmt::format("  {:19} {:>9} {:>9}", "trick", "alone", "last")));
  for (const TrickGain& gain : gains) {
    terminal.line(fmt::format("  {:19} {:>8.2f}x {:>8.2f}x", gain.name, gain.alone, gain.last));
  }
}

AblationTable::AblationTable(Terminal& terminal, StepTime step, std::int64_t batch)
    : terminal_(terminal),
      examples_per_s_max_(static_cast<double>(batch) * 1e12 / static_cast<double>(step.total_ps())),
      bar_width_(std::clamp(terminal.columns() - kFixedWidth, 6, 24)) {}

void AblationTable::header() {
  terminal_.line(terminal_.paint(
      Paint::dim,
      fmt::format("  {:19} {:>9} {:{}} {:>5} {:>5} {:>5} {:>5} {:>6} {}", "pipeline", "images/s",
                  "", bar_width_, "wait%", "xfer%", "idle%", "busy%", "faster", "input-bound")));
}

void AblationTable::row(const MeasuredRun& run) {
  const StepSummary& s = run.summary;
  if (baseline_ == 0) baseline_ = s.examples_per_s;
  const Paint paint = paint_of(s.verdict);
  std::string shares;
  for (const int share :
       permille({s.infeed_wait_ps, s.transfer_ps, s.idle_ps, s.compute_ps + s.all_reduce_ps})) {
    shares += fmt::format(" {:5.1f}", share / 10.0);
  }
  terminal_.line(fmt::format(
      "  {:19} {:>9} {}{} {:>6} {}", run.name, with_commas(std::llround(s.examples_per_s)),
      terminal_.paint(paint, terminal_.bar(s.examples_per_s / examples_per_s_max_, bar_width_)),
      shares, baseline_ > 0 ? fmt::format("{:.2f}x", s.examples_per_s / baseline_) : "",
      terminal_.paint(paint, to_string(s.verdict))));
}

std::string compare(const Terminal& terminal, const MeasuredRun& naive, const MeasuredRun& tuned) {
  const double speedup = tuned.summary.examples_per_s / naive.summary.examples_per_s;
  return fmt::format("{:.1f} times as many images a second; {} {} {} input-bound", speedup,
                     to_string(naive.summary.verdict), terminal.either("→", "->"),
                     to_string(tuned.summary.verdict));
}

LearningTable::LearningTable(Terminal& terminal)
    : terminal_(terminal),
      bar_width_(std::clamp((terminal.columns() - kLearningFixedWidth) / 2, 10, 24)) {}

void LearningTable::header() {
  const std::string scale =
      fmt::format("{:.0f}%{:>{}}", 100 * kAccuracyLow, fmt::format("{:.0f}%", 100 * kAccuracyHigh),
                  bar_width_ - 3);
  terminal_.line(
      terminal_.paint(Paint::dim, fmt::format("  {:>5}  {:>6} {:{}}  {:>8} {:>6}  {}", "epoch",
                                              "loss", "", bar_width_, "accuracy", "test", scale)));
}

void LearningTable::row(const EpochResult& epoch) {
  loss_max_ = std::max(loss_max_, epoch.loss);
  const double along = (epoch.test_accuracy - kAccuracyLow) / (kAccuracyHigh - kAccuracyLow);
  terminal_.line(fmt::format("  {:5}  {:6.4f} {}  {:>8} {:>6}  {}", epoch.epoch, epoch.loss,
                             terminal_.bar(epoch.loss / loss_max_, bar_width_),
                             percent(epoch.accuracy), percent(epoch.test_accuracy),
                             terminal_.mark(along, bar_width_)));
}

}  // namespace infeed::tools
