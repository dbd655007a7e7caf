#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "profile/recorded_run.h"

/// Why: the ranks of a training wait for each other, so all have equally long steps, and one rank's
/// recording shows only that it waited. Side by side the recordings show for whom: the rank that
/// comes last in a step hardly waits for others.
///
///     RecordedJob job = read_recorded_job("run.profile");  // run.profile.rank0 ...
///     const RankTable table = compare_ranks(job.ranks);
///     for (const std::string& line : table.lines) terminal.line(line);
namespace infeed::tools {

struct RankFile {
  std::size_t rank = 0;
  std::string file = {};
};
/// Returns PATH.rank0, PATH.rank1 and so on, those that are there. Ranks that feed others have none.
std::vector<RankFile> rank_recordings(const std::string& path);

struct RankRun {
  std::size_t rank = 0;
  RecordedRun run = {};
};

/// The newest run that recorded to a path.
struct RecordedJob {
  std::optional<RecordedRun> alone =
      std::nullopt;                 ///< that of a single process; else there are ranks
  std::vector<RankRun> ranks = {};  ///< by rank
  std::string note = {};            ///< the files that were left out; empty: none
};

/// Reads PATH or the recordings of ranks, whichever are of the newest run. Recordings of an earlier
/// job, which may have had more ranks, are left out: they end before the newest one begins. Where
/// PATH is as new as they are (another program of the job wrote it) the ranks are taken. So is a file
/// that can't be read; throws Error as read_recorded_run() does if none can.
RecordedJob read_recorded_job(const std::string& path, const std::stop_token& stop = {});

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
  /// Index of the rank that came last most often. Where no step shows that, the one that waited
  /// longest for its input, and there is no sentence.
  std::size_t slowest = 0;
  /// For a person, with a sentence that names that rank:
  ///
  ///     //  rank  host        step   input     own  others   last
  ///     //     0  node-a    40.1 ms     0.1    12.0    28.0    2 %
  ///     //     1  node-b    40.1 ms    27.4    12.1     0.6   98 %
  ///     // Rank 1 (node-b) held back 98 % of 400 steps: it waited 27.4 ms for input, the others 0.1 ms.
  std::vector<std::string> lines = {};
};

/// `ranks`: at least one. Steps are matched by their numbers.
RankTable compare_ranks(const std::vector<RankRun>& ranks);

}  // namespace infeed::tools
