#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/recorded_run.h"

/// Why: the ranks of a training wait for each other, so all have equally long steps, and one rank's
/// recording shows only that it waited. Side by side the recordings show for whom: the rank that
/// comes last in a step hardly waits for others.
///
///     const std::vector<std::string> files = rank_recordings("run.profile");  // run.profile.rank0 ...
///     const RankTable table = compare_ranks(read_all(files));
///     for (const std::string& line : table.lines) terminal.line(line);
namespace infeed::tools {

/// Returns PATH.rank0, PATH.rank1 and so on, as far as they are there; none if PATH itself is.
std::vector<std::string> rank_recordings(const std::string& path);

/// One rank's means a step, and how often it came last.
struct RankRow {
  std::size_t rank = 0;
  std::string host = {};
  std::uint64_t steps = 0;
  double step_ns = 0;
  double input_ns = 0;    ///< waiting for its input
  double own_ns = 0;      ///< transfer, compute and idling
  double others_ns = 0;   ///< waiting for other ranks, and adding up with them
  double last_share = 0;  ///< share of the steps in which it was waited for
};

struct RankTable {
  std::vector<RankRow> rows = {};
  std::size_t slowest = 0;  ///< rank that came last most often
  /// For a person, with a sentence that names that rank:
  ///
  ///     //  rank  host        step   input     own  others   last
  ///     //     0  node-a    40.1 ms     0.1    12.0    28.0    2 %
  ///     //     1  node-b    40.1 ms    27.4    12.1     0.6   98 %
  ///     // Rank 1 (node-b) held back 98 % of 400 steps: it waited 27.4 ms for input, the others 0.1 ms.
  std::vector<std::string> lines = {};
};

/// `runs`: by rank, at least one. Steps are matched by their numbers.
RankTable compare_ranks(const std::vector<RecordedRun>& runs);

}  // namespace infeed::tools
