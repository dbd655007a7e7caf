#include "world/mpi_watch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <unistd.h>
#include <vector>

#include <infeed/detail/folder_entries.h>
#include <infeed/detail/parse_whole.h>
#include <infeed/detail/start_threads.h>
#include <infeed/detail/wait_unless_stopped.h>
#include <infeed/error.h>

namespace infeed::detail {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr const char* kVariable = "INFEED_MPI_START_SECONDS";
constexpr int kSecondsMax = 1'000'000;
/// A rank whose host has no stopped rank leaves the word to one that can name it.
constexpr auto kOthersFirst = std::chrono::seconds(1);

nanoseconds limit_or_default(nanoseconds limit) {
  if (limit > nanoseconds(0)) return limit;
  const char* const text = std::getenv(kVariable);  // NOLINT(concurrency-mt-unsafe)
  if (text == nullptr || *text == '\0') return std::chrono::seconds(60);
  int seconds = 0;
  if (parse_whole(std::string_view(text), seconds) && seconds > 0 && seconds <= kSecondsMax) {
    return std::chrono::seconds(seconds);
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{} is '{}'; give a whole number of seconds, 1 to {}", kVariable, text,
                          kSecondsMax));
}

using Variables = std::map<std::string, std::string, std::less<>>;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the variables that a process was started with; none if it is another user's.
Variables variables_of(const std::filesystem::path& process) {
  Variables variables;
  const std::string text = text_of(process / "environ");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    const std::size_t equals = text.find('=', at);
    if (equals < end) {
      variables.emplace(text.substr(at, equals - at), text.substr(equals + 1, end - equals - 1));
    }
    at = end + 1;
  }
  return variables;
}

bool is_same_job(const Variables& a, const Variables& b) {
  constexpr const char* kJobNames[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID",
                                       "SLURM_STEP_ID"};
  return std::ranges::all_of(kJobNames, [&](const char* name) {
    const auto of_a = a.find(name);
    const auto of_b = b.find(name);
    if (of_a == a.end() || of_b == b.end()) return of_a == a.end() && of_b == b.end();
    return of_a->second == of_b->second;
  });
}

/// A letter: 'T' for a process that was stopped. It stands behind the name, which may hold anything.
bool is_stopped(const std::filesystem::path& process) {
  const std::string stat = text_of(process / "stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && name_end + 2 < stat.size() &&
         (stat[name_end + 2] == 'T' || stat[name_end + 2] == 't');
}

std::optional<int> rank_in(const Variables& variables) {
  try {
    const DetectedWorld found = detect_world({.lookup = [&](const std::string& name) {
      const auto variable = variables.find(name);
      return variable == variables.end() ? std::nullopt : std::optional(variable->second);
    }});
    return found.source == "no launcher" ? std::nullopt : std::optional(found.world.rank);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Returns "rank 2 (process 4711)" for each rank of this job that is stopped on this host.
std::vector<std::string> stopped_ranks() {
  std::vector<std::string> found;
  const Variables own = variables_of("/proc/self");
  std::error_code failure;
  for (const auto& [process, type] : detail::folder_entries("/proc", failure)) {
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::filesystem::path folder = std::filesystem::path("/proc") / process;
    if (!is_stopped(folder)) continue;
    const Variables variables = variables_of(folder);
    if (variables.empty() || !is_same_job(own, variables)) continue;
    if (const auto rank = rank_in(variables)) {
      found.push_back(fmt::format("rank {} (process {})", *rank, process));
    }
  }
  return found;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

std::string reason_of(const std::vector<std::string>& stopped) {
  if (!stopped.empty()) return fmt::format("{} of this host is stopped", stopped.front());
  return fmt::format(
      "no rank of this host is stopped, so look for one that is dead, stopped or cut off on "
      "another; {} allows a slow job more",
      kVariable);
}

}  // namespace

MpiWatch::MpiWatch(std::string_view part, nanoseconds limit, const World& world)
    : part_(part),
      limit_(limit_or_default(limit)),
      world_(world),
      thread_(start_thread<std::jthread>([this](const std::stop_token& over) { watch(over); })) {}

void MpiWatch::watch(const std::stop_token& over) const {
  const nanoseconds look_every = std::min<nanoseconds>(limit_ / 8, std::chrono::seconds(1));
  nanoseconds waited{0};
  for (Clock::time_point last = Clock::now(); waited < limit_;) {
    wait_unless_stopped(look_every, over);
    if (over.stop_requested()) return;
    // A process that was stopped itself must not blame the others.
    const Clock::time_point now = Clock::now();
    waited += std::min<nanoseconds>(now - last, 2 * look_every);
    last = now;
  }
  std::vector<std::string> stopped = stopped_ranks();
  if (stopped.empty()) {
    wait_unless_stopped(kOthersFirst, over);
    if (over.stop_requested()) return;
    stopped = stopped_ranks();
  }
  const std::string line = fmt::format(
      "infeed: rank {} of {} on {} ends the job: the {} of MPI, to which all ranks must come, has "
      "taken {:.1f} s; {}\n",
      world_.rank, world_.size, host_name(), part_, std::chrono::duration<double>(waited).count(),
      reason_of(stopped));
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  _exit(EXIT_FAILURE);
}

}  // namespace infeed::detail
