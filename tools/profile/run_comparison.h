#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile_report.h"

/// Why: "is it slower than last week?" is a question about noise as much as about speed. Each
/// figure is taken from stretches of both runs. A difference counts if it is larger than the
/// differences between the stretches of one run.
///
///     const RunComparison comparison(before, after);
///     comparison.holds("input_bound_percent > 5");  // for CI
namespace infeed::tools {

struct ComparedFigure {
  std::string name = {};  ///< "steps_per_s"; of a stage: "map[1]: cpu_us_per_element"
  double before = 0;
  double after = 0;
  double noise = 0;  ///< two standard errors of the difference
  bool is_changed = false;
  /// Returns the change in percent of `before`; 0 if that is 0.
  double change_percent() const { return before == 0 ? 0 : 100 * (after / before - 1); }
};

class RunComparison {
 public:
  /// Throws Error (cancelled) when somebody asked to stop.
  RunComparison(const RecordedRun& before, const RecordedRun& after,
                const std::stop_token& stop = {});

  const std::vector<ComparedFigure>& figures() const { return figures_; }
  /// True if "NAME > NUMBER" or "NAME < NUMBER" holds for the second run. NAME is a figure's name,
  /// or that with _change_percent behind it. Throws Error (invalid_argument) if it can't read the
  /// text, and names the figures that exist.
  bool holds(std::string_view condition) const;

 private:
  std::vector<ComparedFigure> figures_;
};

}  // namespace infeed::tools
