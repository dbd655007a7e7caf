#include "plan/plan.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <infeed/device/cost_model.h>
#include <infeed/device/hbm_need.h>
#include <infeed/device/slice.h>
#include <infeed/error.h>

#include "cli/limits.h"
#include "cli/terminal.h"
#include "plan/host_replay.h"
#include "plan/plan_verdict.h"

namespace infeed::tools {
namespace {

constexpr std::string_view kLargestSlice = "v4-8192";
constexpr std::uint64_t kBatchesMin = 100;
// In the first window files are opened and threads begin.
constexpr std::size_t kWindowsWithBegin = 3;
// A rank comes last in about one step of as many as there are ranks, and some steps are odd.
constexpr double kOwnAllReduceQuantile = 0.05;

/// Returns a slice of the same generation whose hosts have all their chips.
Slice slice_of_hosts(const Slice& like, std::int32_t hosts) {
  const ChipSpec& chip = like.chip();
  const std::int32_t chips = hosts * chip.chips_per_host;
  for (const std::string& name : Slice::known_names()) {
    Slice slice = Slice::parse(name);
    if (slice.chip().generation == chip.generation && slice.num_chips() == chips) return slice;
  }
  const bool is_3d = chip.generation == TpuGeneration::v4 || chip.generation == TpuGeneration::v5p;
  return Slice::parse(is_3d ? fmt::format("{}:2x2x{}", to_string(chip.generation), chips / 4)
                            : fmt::format("{}:2x{}", to_string(chip.generation), chips / 2));
}

/// Returns the most hosts, as a power of two, whose slowest so many batches show; 0: of none.
int hosts_shown_by(std::uint64_t batches) {
  int hosts = 0;
  for (int next = 1; next <= kPlannedHostsMax && batches_needed(next) <= batches; next *= 2) {
    hosts = next;
  }
  return hosts;
}

/// Returns the hosts of the last row. Throws Error if the recording has too few batches for it.
int last_hosts(const RecordedRun& run, const PlanOptions& options, const Slice& slice,
               std::uint64_t batches) {
  const int hosts = slice.num_hosts();
  if (hosts > kPlannedHostsMax) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} has {} hosts; expected a slice of at most {}", slice.name(),
                            with_commas(hosts), with_commas(kPlannedHostsMax)));
  }
  const int shown = hosts_shown_by(batches);
  if (shown == 0) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the recording has too few batches, {}; at least {} show how slow the "
                            "slow ones are, and {} the slowest of 1,024 hosts: record a longer run",
                            batches, kBatchesMin, with_commas(batches_needed(kPlannedHostsMax))))
        .at_file(run.path);
  }
  if (options.slice.empty()) return std::min(shown, hosts);
  if (batches_needed(hosts) <= batches) return hosts;
  throw Error(
      ErrorCode::failed_precondition,
      fmt::format("the recording has {} batches, but of the {} hosts of {} one is slower than all "
                  "of these in most steps; record at least {}, or plan for up to {} hosts",
                  with_commas(batches), with_commas(hosts), slice.name(),
                  with_commas(batches_needed(hosts)), shown))
      .at_file(run.path);
}

/// Returns the least value from `from` to `most` for which `holds` is true, given that it stays
/// true above.
template <class Holds>
std::optional<int> first_that_holds(int from, int most, const Holds& holds) {
  if (from > most || !holds(most)) return std::nullopt;
  int below = from - 1;
  int above = from;
  for (int stride = 1; above < most && !holds(above); stride *= 2) {
    below = above;
    above = std::min(above + stride, most);
  }
  while (below + 1 < above) {
    const int middle = below + (above - below) / 2;
    (holds(middle) ? above : below) = middle;
  }
  return above;
}

class Planner {
 public:
  Planner(const RecordedRun& run, const PlanOptions& options)
      : run_(run), options_(options), replay_(run, options.stop) {
    if (!options.model.empty()) model_ = workload(options.model);
  }

  Plan plan() {
    const Slice slice = Slice::parse(options_.slice.empty() ? kLargestSlice : options_.slice);
    const RecordedService& service = replay_.service();
    const int hosts = last_hosts(run_, options_, slice, service.ps.size());
    check_step(hosts);
    const Slice last = hosts == slice.num_hosts() ? slice : slice_of_hosts(slice, hosts);
    if (model_) check_hbm(*model_, last, service.examples * hosts);
    plan_ = {.duty_cycle = options_.duty_cycle,
             .recorded_batches = service.ps.size(),
             .batch_bytes = service.bytes,
             .batch_examples = service.examples,
             .storage_bytes_of_batch = replay_.storage_bytes(),
             .cpu_s_of_batch = replay_.cpu_s()};
    for (int next = 1; next < hosts; next *= 2) add_row(slice_of_hosts(slice, next), next);
    add_row(last, hosts);
    const bool is_recorded_step = !model_ && options_.step_ps == 0;
    if (is_recorded_step && !service.works_in_step) plan_.measured = {measured_hosts(run_, 1)};
    plan_.verdict = plan_verdict(plan_, options_, replay_);
    plan_.notes = plan_notes(plan_, options_, replay_, run_);
    return std::move(plan_);
  }

 private:
  void check_step(int hosts) const {
    if (model_ && replay_.service().examples > limits::global_batch / hosts) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} examples a host are more than {} on {} hosts; expected a smaller "
                              "slice or batch",
                              replay_.service().examples, limits::global_batch, hosts))
          .at_file(run_.path);
    }
    if (model_ && replay_.service().examples == 0) {
      throw Error(ErrorCode::failed_precondition,
                  "no stage of the recording makes batches, so that a model's batch isn't known; "
                  "give the step's time instead (--step-us)")
          .at_file(run_.path);
    }
    if (model_ || options_.step_ps > 0 || replay_.service().step_ps > 0) return;
    throw Error(ErrorCode::failed_precondition,
                "the recorded steps take no time of their own; give a step's time (--step-us), or "
                "name a model (--model)")
        .at_file(run_.path);
  }

  StepTime step_on(const Slice& slice, int hosts) const {
    if (model_) return step_time(*model_, slice, replay_.service().examples * hosts);
    return {.compute_ps = options_.step_ps > 0 ? options_.step_ps : replay_.service().step_ps};
  }

  void add_row(const Slice& slice, int hosts) {
    const HostReplay::Hosts as_recorded{.slice = slice,
                                        .step = step_on(slice, hosts),
                                        .queue_depth = replay_.service().queue_depth};
    const ServiceTail tail = replay_.tail(as_recorded);
    PlannedHosts row{.hosts = hosts,
                     .slice = slice.name(),
                     .device_step_ps = as_recorded.step.total_ps(),
                     .as_recorded = set_up_of(as_recorded),
                     .host_p50_ps = tail.host_p50_ps,
                     .slowest_p50_ps = tail.step_p50_ps};
    row.as_recorded.cores = replay_.model().costs().cores;
    if (!plan_.rows.empty()) {
      row.cost_of_slowest =
          std::max(0.0, plan_.rows.front().as_recorded.duty_cycle - row.as_recorded.duty_cycle);
    }
    row.queue_with_recorded_cores = first_queue(as_recorded, 1);
    add_need(as_recorded, row);
    const HostSetUp& used = row.need ? *row.need : row.as_recorded;
    row.storage_bytes_per_s = hosts * plan_.storage_bytes_of_batch * 1e12 /
                              static_cast<double>(std::max<std::int64_t>(1, used.step_ps));
    plan_.rows.push_back(std::move(row));
  }

  /// More hosts never need less, unless the step changes with them.
  void add_need(HostReplay::Hosts hosts, PlannedHosts& row) const {
    const bool begins_anew = model_ || plan_.rows.empty() || !plan_.rows.back().need;
    if (!model_ && !plan_.rows.empty() && !plan_.rows.back().need) return;
    const HostSetUp before =
        begins_anew ? HostSetUp{.cores = 1, .queue_depth = 1} : *plan_.rows.back().need;
    const int cores_before = static_cast<int>(before.cores);
    const std::optional<int> cores =
        first_that_holds(cores_before, options_.cores_max, [&](int number) {
          hosts.cores = number;
          hosts.queue_depth = options_.queue_max;
          return holds(hosts);
        });
    if (!cores) return;
    hosts.cores = *cores;
    hosts.queue_depth = *first_queue(hosts, *cores == cores_before ? before.queue_depth : 1);
    row.need = set_up_of(hosts);
  }

  std::optional<int> first_queue(HostReplay::Hosts hosts, int from) const {
    return first_that_holds(from, options_.queue_max, [&](int depth) {
      hosts.queue_depth = depth;
      return holds(hosts);
    });
  }

  bool holds(const HostReplay::Hosts& hosts) const {
    return replay_.span(hosts).duty_cycle >= options_.duty_cycle;
  }

  HostSetUp set_up_of(const HostReplay::Hosts& hosts) const {
    const VirtualSpan span = replay_.span(hosts);
    return {.cores = hosts.cores,
            .queue_depth = hosts.queue_depth,
            .step_ps = span.span_ps / std::max<std::int64_t>(1, span.steps),
            .duty_cycle = span.duty_cycle};
  }

  const RecordedRun& run_;
  const PlanOptions& options_;
  const HostReplay replay_;
  std::optional<Workload> model_;
  Plan plan_;
};

}  // namespace

std::uint64_t batches_needed(int hosts) {
  const double beyond = -std::expm1(-std::log(2.0) / hosts);
  return std::max(kBatchesMin, static_cast<std::uint64_t>(std::ceil(1 / beyond)));
}

namespace {

/// Returns the time of adding up with the other ranks without waiting for them, which a recorded
/// all-reduce contains: hardly any in the steps in which this rank came last.
std::uint64_t own_all_reduce_ns(const RecordedRun& run, std::uint64_t from_ns) {
  std::vector<std::uint64_t> times_ns;
  for (const RecordedStep& step : run.steps) {
    if (step.begin_ns >= from_ns) times_ns.push_back(step.all_reduce_ns);
  }
  if (times_ns.empty()) return 0;
  const auto last = static_cast<double>(times_ns.size() - 1);
  const auto low = times_ns.begin() + static_cast<std::ptrdiff_t>(kOwnAllReduceQuantile * last);
  std::ranges::nth_element(times_ns, low);
  return *low;
}

}  // namespace

MeasuredHosts measured_hosts(const RecordedRun& run, int hosts) {
  const std::uint64_t from_ns =
      run.windows.size() >= kWindowsWithBegin ? run.windows[1].begin_ns : 0;
  MeasuredHosts measured{.hosts = hosts, .file = run.path};
  const std::uint64_t own_ns = own_all_reduce_ns(run, from_ns);
  double busy_ns = 0;
  double all_ns = 0;
  for (const RecordedStep& step : run.steps) {
    if (step.begin_ns < from_ns) continue;
    ++measured.steps;
    const auto compute_ns = static_cast<double>(step.compute_ns);
    busy_ns += compute_ns + static_cast<double>(std::min(step.all_reduce_ns, own_ns));
    all_ns += compute_ns + static_cast<double>(step.all_reduce_ns) +
              static_cast<double>(step.infeed_wait_ns) + static_cast<double>(step.transfer_ns) +
              static_cast<double>(step.idle_ns);
  }
  if (all_ns <= 0) {
    throw Error(ErrorCode::failed_precondition,
                "there is no step in the recording behind its begin, so that nothing was measured; "
                "record a run that lasts longer")
        .at_file(run.path);
  }
  measured.duty_cycle = busy_ns / all_ns;
  measured.step_ps =
      std::llround(std::min(1000 * all_ns / static_cast<double>(measured.steps), 1e18));
  return measured;
}

Plan plan(const RecordedRun& run, const PlanOptions& options) {
  if (!(options.duty_cycle > 0 && options.duty_cycle < 1) || options.cores_max < 1 ||
      options.queue_max < 1 || options.step_ps < 0) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("a plan for a duty cycle of {:g}, {} cores, queues of {} and a step of "
                    "{} ps; expected above 0 and below 1, at least 1, 1 and 0",
                    options.duty_cycle, options.cores_max, options.queue_max, options.step_ps));
  }
  return Planner(run, options).plan();
}

}  // namespace infeed::tools
