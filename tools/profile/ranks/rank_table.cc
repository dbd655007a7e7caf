#include "profile/ranks/rank_table.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <system_error>
#include <utility>

#include "cli/printable.h"

namespace infeed::tools {
namespace {

constexpr double kNsPerMs = 1e6;

RankRow row_of(std::size_t rank, const RecordedRun& run) {
  RankRow row{.rank = rank, .host = run.host, .steps = run.steps.size()};
  const double steps = std::max<double>(static_cast<double>(row.steps), 1);
  for (const RecordedStep& step : run.steps) {
    row.step_ns += static_cast<double>(step.length_ns()) / steps;
    row.input_ns += static_cast<double>(step.infeed_wait_ns) / steps;
    row.others_ns += static_cast<double>(step.all_reduce_ns) / steps;
  }
  row.own_ns = row.step_ns - row.input_ns - row.others_ns;
  return row;
}

/// Returns for each rank the number of steps in which it waited least for the others.
std::vector<std::uint64_t> count_last(const std::vector<RecordedRun>& runs) {
  std::map<std::uint64_t, std::pair<std::uint64_t, std::size_t>> least;  // wait and rank, by step
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    for (const RecordedStep& step : runs[rank].steps) {
      const auto found = least.try_emplace(step.number, step.all_reduce_ns, rank).first;
      if (step.all_reduce_ns < found->second.first) found->second = {step.all_reduce_ns, rank};
    }
  }
  std::vector<std::uint64_t> counts(runs.size(), 0);
  for (const auto& [step, last] : least) ++counts[last.second];
  return counts;
}

/// Returns the mean of the other ranks' values.
template <class Value>
double mean_of_others(const RankTable& table, Value value) {
  double sum = 0;
  for (const RankRow& row : table.rows) sum += row.rank == table.slowest ? 0 : row.*value;
  return sum / std::max<double>(static_cast<double>(table.rows.size()) - 1, 1);
}

std::string name_of(const RankRow& row) {
  return row.host.empty() ? fmt::format("Rank {}", row.rank)
                          : fmt::format("Rank {} ({})", row.rank, printable(row.host, 40));
}

std::string verdict(const RankTable& table) {
  const RankRow& slow = table.rows[table.slowest];
  const double input_ns = mean_of_others(table, &RankRow::input_ns);
  const double own_ns = mean_of_others(table, &RankRow::own_ns);
  const bool waits_for_input = slow.input_ns - input_ns > slow.own_ns - own_ns;
  return fmt::format("{} held back {:.0f} % of {} steps: it {} {:.1f} ms {}, the others {:.1f} ms.",
                     name_of(slow), 100 * slow.last_share, slow.steps,
                     waits_for_input ? "waited" : "took",
                     (waits_for_input ? slow.input_ns : slow.own_ns) / kNsPerMs,
                     waits_for_input ? "for input" : "for its own part",
                     (waits_for_input ? input_ns : own_ns) / kNsPerMs);
}

}  // namespace

std::vector<std::string> rank_recordings(const std::string& path) {
  std::vector<std::string> files;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return files;
  for (std::string file = path + ".rank0"; std::filesystem::exists(file, ignored);
       file = fmt::format("{}.rank{}", path, files.size())) {
    files.push_back(file);
  }
  return files;
}

RankTable compare_ranks(const std::vector<RecordedRun>& runs) {
  RankTable table;
  const std::vector<std::uint64_t> last = count_last(runs);
  std::uint64_t steps = 0;
  for (const std::uint64_t count : last) steps += count;
  table.lines.push_back(fmt::format("{:>5}  {:16} {:>10} {:>8} {:>8} {:>8} {:>6}", "rank", "host",
                                    "step", "input", "own", "others", "last"));
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    RankRow row = row_of(rank, runs[rank]);
    if (steps > 0) row.last_share = static_cast<double>(last[rank]) / static_cast<double>(steps);
    if (last[rank] > last[table.slowest]) table.slowest = rank;
    table.lines.push_back(
        fmt::format("{:>5}  {:16} {:>7.1f} ms {:>8.1f} {:>8.1f} {:>8.1f} {:>4.0f} %", rank,
                    printable(row.host, 16), row.step_ns / kNsPerMs, row.input_ns / kNsPerMs,
                    row.own_ns / kNsPerMs, row.others_ns / kNsPerMs, 100 * row.last_share));
    table.rows.push_back(std::move(row));
  }
  if (steps > 0 && runs.size() > 1) table.lines.push_back(verdict(table));
  return table;
}

}  // namespace infeed::tools
