#include "plan/host_replay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <string_view>
#include <utility>

#include <infeed/error.h>

#include "cli/limits.h"

namespace infeed::tools {
namespace {

constexpr std::uint64_t kSeedOfHosts = 1;
/// A run has about as many batches in all, but at least so many steps: those of one host must show
/// what comes once in a recording, those of many need fewer to show as much.
constexpr std::int64_t kBatchesOfRun = 1'000'000;
constexpr std::int64_t kRunStepsMin = 1000;
constexpr std::int64_t kRunStepsMax = 100'000;
constexpr double kThreadsMax = 1e6;
/// The longest that virtual mode takes, and the largest batch of a host: only a damaged recording
/// has more.
constexpr double kLongestPs = 1e18;
constexpr std::int64_t kBatchBytesMax = std::int64_t{1} << 50;
/// Sources whose elements were never in a file.
constexpr std::array<std::string_view, 8> kFromMemory{"range",        "generate", "random_integers",
                                                      "from_memory",  "slices",   "from_columns",
                                                      "folder_names", "files"};

}  // namespace

HostReplay::HostReplay(const RecordedRun& run, std::stop_token stop)
    : run_(run), service_(recorded_service(run)), model_(run), stop_(std::move(stop)) {
  if (service_.bytes < 0 || service_.bytes > kBatchBytesMax || service_.examples < 0 ||
      service_.examples > limits::global_batch) {
    throw Error(
        ErrorCode::data_loss,
        fmt::format("the recording has batches of {} examples and {} bytes; expected at "
                    "most {} and {}",
                    service_.examples, service_.bytes, limits::global_batch, kBatchBytesMax))
        .at_file(run.path);
  }
  usual_ps_ = middle_of(service_.ps);
}

double HostReplay::share_of_usual(double cores) const {
  FlowModel::Costs changed = model_.costs();
  const double more = changed.cores > 0 ? cores / changed.cores : 1;
  changed.cores = cores;
  changed.cores_of_others = 0;
  for (FlowModel::Service& stage : changed.stages) {
    // Threads that wait for storage cost no core, so fewer cores take none away.
    if (!stage.is_parallel || more <= 1) continue;
    stage.parallelism =
        static_cast<int>(std::min(std::ceil(stage.parallelism * more), kThreadsMax));
  }
  const double recorded_per_s = model_.pipeline_steps_per_s();
  const double changed_per_s = model_.pipeline_steps_per_s(changed);
  const double share = recorded_per_s / changed_per_s;
  return recorded_per_s > 0 && std::isfinite(share) ? share : 1;
}

std::vector<std::int64_t> HostReplay::times_with(double cores) const {
  std::vector<std::int64_t> times = service_.ps;
  const double share = share_of_usual(cores);
  for (std::int64_t& ps : times) {
    const double change_ps = (share - 1) * static_cast<double>(std::min(ps, usual_ps_));
    ps = std::llround(std::clamp(static_cast<double>(ps) + change_ps, 0.0, kLongestPs));
  }
  return times;
}

ServiceTimes HostReplay::service_times(const Hosts& hosts) const {
  return ServiceTimes::replayed(hosts.cores > 0 ? times_with(hosts.cores) : service_.ps,
                                kSeedOfHosts);
}

VirtualOptions HostReplay::run_of(const Hosts& hosts) const {
  const std::int64_t number = hosts.slice.num_hosts();
  const auto batches = static_cast<std::int64_t>(service_.ps.size());
  const std::int64_t steps =
      std::max(kRunStepsMin, std::min({batches, kBatchesOfRun / number, kRunStepsMax}));
  return {.batches = {{.examples = service_.examples * number,
                       .bytes = service_.bytes * number,
                       .step = hosts.step}},
          .steps = steps,
          .warmup_steps = steps,  // queues begin empty
          .queue_depth = hosts.queue_depth,
          .stop = stop_};
}

void HostReplay::check_not_stopped() const {
  if (stop_.stop_requested()) throw Error(ErrorCode::cancelled, "stopped");
}

VirtualSpan HostReplay::span(const Hosts& hosts) const {
  const VirtualSpan span = virtual_span(hosts.slice, service_times(hosts), run_of(hosts));
  check_not_stopped();
  return span;
}

ServiceTail HostReplay::tail(const Hosts& hosts) const {
  const VirtualResult result = run_virtual(hosts.slice, service_times(hosts), run_of(hosts));
  check_not_stopped();
  return result.tail;
}

double HostReplay::storage_bytes() const {
  double bytes = 0;
  for (const RecordedStage& stage : run_.stages) {
    if (!model_.is_source(stage.id) ||
        std::ranges::find(kFromMemory, stage.name) != kFromMemory.end()) {
      continue;
    }
    bytes += model_.costs().stages[static_cast<std::size_t>(stage.id)].bytes;
  }
  return bytes * service_.batches;
}

double HostReplay::cpu_s() const {
  double cpu_s = 0;
  for (const FlowModel::Service& stage : model_.costs().stages) cpu_s += stage.cpu_s;
  return cpu_s * service_.batches;
}

}  // namespace infeed::tools
