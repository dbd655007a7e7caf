#include "profile/ranks/rank_table.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <span>
#include <system_error>
#include <utility>

#include <infeed/detail/folder_entries.h>
#include <infeed/detail/parse_whole.h>
#include <infeed/error.h>

#include "cli/printable.h"

namespace infeed::tools {
namespace {

constexpr double kNsPerMs = 1e6;
// The clocks of a job's hosts differ by less. One job ends and the next begins at least as far apart,
// as starting an MPI job takes longer.
constexpr double kClocksApartS = 1;

RankRow row_of(const RankRun& one) {
  const std::span<const RecordedStep> recorded = one.run.detailed_steps();
  RankRow row{.rank = one.rank, .host = one.run.host, .steps = recorded.size()};
  const double steps = std::max<double>(static_cast<double>(row.steps), 1);
  for (const RecordedStep& step : recorded) {
    row.step_ns += static_cast<double>(step.length_ns()) / steps;
    row.input_ns += static_cast<double>(step.infeed_wait_ns) / steps;
    row.others_ns += static_cast<double>(step.all_reduce_ns) / steps;
  }
  row.own_ns = row.step_ns - row.input_ns - row.others_ns;
  return row;
}

/// Returns for each rank the number of steps in which it waited least for the others. Only steps that
/// all ranks have count, and only those without a tie: recordings without all-reduce times have
/// nothing but ties, and say nothing about who came last.
std::vector<std::uint64_t> count_last(const std::vector<RankRun>& ranks) {
  struct Least {
    std::uint64_t wait_ns;
    std::size_t of;       ///< index of the rank that waited so long
    std::size_t seen_in;  ///< ranks that have the step
    bool is_tied = false;
  };
  std::map<std::uint64_t, Least> steps;  // by number
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (const RecordedStep& step : ranks[i].run.detailed_steps()) {
      const std::uint64_t wait_ns = step.all_reduce_ns;
      if (i == 0) steps.try_emplace(step.number, Least{wait_ns, 0, 1});
      const auto found = steps.find(step.number);
      if (found == steps.end() || found->second.seen_in != i) continue;
      Least& least = found->second;
      ++least.seen_in;
      least.is_tied = wait_ns == least.wait_ns || (least.is_tied && wait_ns > least.wait_ns);
      if (wait_ns < least.wait_ns) least = {wait_ns, i, least.seen_in};
    }
  }
  std::vector<std::uint64_t> counts(ranks.size(), 0);
  for (const auto& [number, least] : steps) {
    if (least.seen_in == ranks.size() && !least.is_tied) ++counts[least.of];
  }
  return counts;
}

/// Returns the mean of the other ranks' values.
template <class Value>
double mean_of_others(const RankTable& table, Value value) {
  double sum = 0;
  for (const RankRow& row : table.rows) sum += row.*value;
  sum -= table.rows[table.slowest].*value;
  return sum / std::max<double>(static_cast<double>(table.rows.size()) - 1, 1);
}

std::string name_of(const RankRow& row) {
  return row.host.empty() ? fmt::format("Rank {}", row.rank)
                          : fmt::format("Rank {} ({})", row.rank, printable(row.host, 40));
}

/// `steps`: those that the shares are of.
std::string verdict(const RankTable& table, std::uint64_t steps) {
  const RankRow& slow = table.rows[table.slowest];
  const double input_ns = mean_of_others(table, &RankRow::input_ns);
  const double own_ns = mean_of_others(table, &RankRow::own_ns);
  const bool waits_for_input = slow.input_ns - input_ns > slow.own_ns - own_ns;
  return fmt::format("{} held back {:.0f} % of {} steps: it {} {:.1f} ms {}, the others {:.1f} ms.",
                     name_of(slow), 100 * slow.last_share, steps,
                     waits_for_input ? "waited" : "took",
                     (waits_for_input ? slow.input_ns : slow.own_ns) / kNsPerMs,
                     waits_for_input ? "for input" : "for its own part",
                     (waits_for_input ? input_ns : own_ns) / kNsPerMs);
}

/// Leaves only the newest run in the job, and adds the recordings of others to `left_out`.
void keep_newest(RecordedJob& job, std::vector<std::string>& left_out) {
  double newest_s = job.alone ? job.alone->started_unix_s : job.ranks.front().run.started_unix_s;
  for (const RankRun& rank : job.ranks) newest_s = std::max(newest_s, rank.run.started_unix_s);
  std::erase_if(job.ranks, [&](const RankRun& rank) {
    const double end_s = rank.run.started_unix_s + static_cast<double>(rank.run.end_ns()) / 1e9;
    const bool is_older = end_s + kClocksApartS < newest_s;
    if (is_older) left_out.push_back(rank.run.path);
    return is_older;
  });
  if (!job.alone || job.ranks.empty()) return;
  left_out.insert(left_out.begin(), job.alone->path);
  job.alone.reset();
}

std::string note_of(const std::vector<std::string>& left_out) {
  if (left_out.empty()) return {};
  const std::size_t more = left_out.size() - 1;
  return fmt::format("Other recordings are left out: {}{}", printable(left_out.front(), 200),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace

std::vector<RankFile> rank_recordings(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string begin = std::filesystem::path(path).filename().string() + ".rank";
  std::vector<RankFile> files;
  std::error_code ignored;  // whoever reads the recording says more
  for (const auto& [name, type] :
       detail::folder_entries(folder.empty() ? "." : folder.string(), ignored)) {
    std::size_t rank = 0;
    if (name.starts_with(begin) && detail::parse_whole(name.substr(begin.size()), rank)) {
      files.push_back({rank, (folder / name).string()});
    }
  }
  std::ranges::sort(files, {}, &RankFile::rank);
  return files;
}

RecordedJob read_recorded_job(const std::string& path, const std::stop_token& stop) {
  RecordedJob job;
  std::vector<std::string> left_out;
  std::optional<Error> unreadable;
  const auto read = [&](const std::string& file) -> std::optional<RecordedRun> {
    try {
      return read_recorded_run(file, stop);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      left_out.push_back(error.what());
      if (!unreadable) unreadable = error;
      return std::nullopt;
    }
  };
  std::error_code ignored;
  const std::vector<RankFile> files = rank_recordings(path);
  if (files.empty() || std::filesystem::exists(path, ignored)) job.alone = read(path);
  for (const RankFile& file : files) {
    if (auto run = read(file.file)) job.ranks.push_back({file.rank, std::move(*run)});
  }
  if (!job.alone && job.ranks.empty()) throw *unreadable;
  keep_newest(job, left_out);
  job.note = note_of(left_out);
  return job;
}

RankTable compare_ranks(const std::vector<RankRun>& ranks) {
  RankTable table;
  const std::vector<std::uint64_t> last = count_last(ranks);
  const std::uint64_t steps = std::accumulate(last.begin(), last.end(), std::uint64_t{0});
  const bool is_shown = steps > 0 && ranks.size() > 1;
  table.lines.push_back(fmt::format("{:>5}  {:16} {:>10} {:>8} {:>8} {:>8} {:>6}", "rank", "host",
                                    "step", "input", "own", "others", "last"));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    RankRow row = row_of(ranks[i]);
    if (steps > 0) row.last_share = static_cast<double>(last[i]) / static_cast<double>(steps);
    table.lines.push_back(
        fmt::format("{:>5}  {:16} {:>7.1f} ms {:>8.1f} {:>8.1f} {:>8.1f} {:>6}", row.rank,
                    printable(row.host, 16), row.step_ns / kNsPerMs, row.input_ns / kNsPerMs,
                    row.own_ns / kNsPerMs, row.others_ns / kNsPerMs,
                    is_shown ? fmt::format("{:.0f} %", 100 * row.last_share) : "-"));
    table.rows.push_back(std::move(row));
  }
  const auto slowest = std::ranges::max_element(
      table.rows, {}, steps > 0 ? &RankRow::last_share : &RankRow::input_ns);
  table.slowest = static_cast<std::size_t>(slowest - table.rows.begin());
  if (is_shown) table.lines.push_back(verdict(table, steps));
  return table;
}

}  // namespace infeed::tools
