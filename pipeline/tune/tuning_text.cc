#include "tune/tuning_text.h"

#include <cmath>
#include <cstdint>
#include <fmt/format.h>

namespace infeed {
namespace detail {

std::string rounded(double number) {
  if (number < 100) return fmt::format("{:.3g}", number);
  const double unit = std::pow(10, std::floor(std::log10(number)) - 2);
  std::string digits = fmt::format("{:.0f}", std::round(number / unit) * unit);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string bytes_text(std::uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return fmt::format("{:.3g} GB", number / 1e9);
  if (bytes >= 1'000'000) return fmt::format("{:.3g} MB", number / 1e6);
  return fmt::format("{:.3g} KB", number / 1e3);
}

std::string time_text(double ns) {
  if (ns >= 1e9) return fmt::format("{:.3g} s", ns / 1e9);
  if (ns >= 1e6) return fmt::format("{:.3g} ms", ns / 1e6);
  if (ns >= 1e3) return fmt::format("{:.3g} us", ns / 1e3);
  return fmt::format("{:.3g} ns", ns);
}

std::string cores_text(double cores, double all) {
  if (cores < 0.95 * all) return fmt::format("the {:.1f} cores that others leave are", cores);
  return cores == 1 ? std::string("the only core is") : fmt::format("all {:.3g} cores are", cores);
}

std::string_view name_of(KnobKind kind) {
  switch (kind) {
    case KnobKind::workers:
      return "workers";
    case KnobKind::depth:
      return "depth";
    case KnobKind::cache:
      return "cache";
  }
  return {};
}

std::string change_text(double from, double to) {
  if (from <= 0) return "+0 %";
  return fmt::format("{:+d} %", std::lround(100 * (to / from - 1)));
}

namespace {

std::string value_text(KnobKind kind, std::int64_t value) {
  if (kind == KnobKind::cache) return value == 0 ? "off" : "on";
  return kind == KnobKind::workers && value == 0 ? "serial" : fmt::format("{}", value);
}

std::string outcome_text(const TuningChange& change) {
  using Outcome = TuningChange::Outcome;
  if (change.outcome == Outcome::advised) return "advised";
  if (change.outcome == Outcome::pending) return "under way";
  if (change.outcome == Outcome::overtaken) return "overtaken by the next";
  return fmt::format("got {}, {}", detail::change_text(change.rate_before, change.rate_after),
                     change.outcome == Outcome::kept ? "kept" : "rolled back");
}

}  // namespace
}  // namespace detail

std::string KnobChange::text() const {
  return fmt::format("{}{} {} -> {}", stage, kind == KnobKind::depth ? " depth" : "",
                     detail::value_text(kind, from), detail::value_text(kind, to));
}

std::string TuningChange::text() const {
  std::string what;
  for (const KnobChange& knob : knobs) what += (what.empty() ? "" : ", ") + knob.text();
  return fmt::format("{:5.1f} s  {}: {}; predicted {}, {}", at_seconds, what, why,
                     detail::change_text(rate_before, rate_predicted), detail::outcome_text(*this));
}

std::string TuningReport::text() const {
  std::string text;
  if (changes_dropped != 0) text += fmt::format("({} earlier changes)\n", changes_dropped);
  for (const TuningChange& change : changes) text += change.text() + "\n";
  for (const std::string& note : notes) text += note + "\n";
  return text + verdict + (verdict.empty() ? "" : "\n");
}

}  // namespace infeed
