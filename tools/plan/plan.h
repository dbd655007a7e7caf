#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "profile/recorded_run.h"

/// Why: a pipeline that feeds one host may starve a slice of a thousand: a step begins when the
/// slowest host has its batch, and among a thousand somebody always meets a slow record. `infeed
/// plan` tells from one recorded run which hosts a slice needs.
///
///     const Plan made = plan(read_recorded_run("run.profile"), {.slice = "v4-512"});
///     std::puts(made.verdict.c_str());
///     made.rows.back().need->queue_depth;    // batches that each of 64 hosts must hold ready
///
/// How: the recorded time of each batch (recorded_service.h) is replayed on 1, 2, 4, ... hosts in
/// virtual mode (virtual_run.h), each host from another place of the recording, so that its bursts
/// stay. With other cores the usual time of a batch changes as FlowModel says; what a slow batch
/// took beyond it stays, since one slow record has one thread. Then the fewest cores that hold the
/// duty cycle with the longest queue are looked for, and the shortest queue with these cores.
///
/// Each host is taken to be a machine like the recorded one, to which storage gives as much; other
/// processes that ran beside the recorded one are left out.
///
/// Thread-safety: pure functions.
namespace infeed::tools {

struct PlanOptions {
  std::string slice = {};  ///< by Google's name; empty: up to v4-8192, as far as the steps suffice
  std::string model = {};  ///< its step on the slice (infeed step); empty: the recorded step
  std::int64_t step_ps = 0;  ///< instead of the recorded step; 0: the recorded one
  double duty_cycle = 0.99;  ///< to be held, below 1
  int cores_max = 256;       ///< that a host may have
  int queue_max = 64;        ///< batches that a host may hold ready
  std::stop_token stop = {};
};

/// The equipment of each host, and what comes of it.
struct HostSetUp {
  double cores = 0;
  int queue_depth = 0;  ///< batches that it holds ready; 0: it works when it is asked
  std::int64_t step_ps = 0;
  double duty_cycle = 0;  ///< 0..1
};

struct PlannedHosts {
  int hosts = 1;
  std::string slice = {};
  std::int64_t device_step_ps = 0;  ///< without any wait
  HostSetUp as_recorded = {};
  std::int64_t host_p50_ps = 0;     ///< for a batch of any host, as recorded
  std::int64_t slowest_p50_ps = 0;  ///< for the slowest of all hosts, in the step in the middle
  /// The duty cycle that is lost because there are several hosts, as recorded.
  double cost_of_slowest = 0;
  std::optional<HostSetUp> need = std::nullopt;  ///< nothing within the limits holds the duty cycle
  /// The shortest queue that holds it with the recorded cores.
  std::optional<int> queue_with_recorded_cores = std::nullopt;
  double storage_bytes_per_s = 0;  ///< all hosts together, with `need`, else as recorded
};

/// A real run of so many hosts.
struct MeasuredHosts {
  int hosts = 1;
  double duty_cycle = 0;
  std::int64_t step_ps = 0;  ///< on average, with its waits
  std::uint64_t steps = 0;
  std::string file = {};
};

struct Plan {
  double duty_cycle = 0.99;  ///< to be held
  std::uint64_t recorded_batches = 0;
  std::int64_t batch_bytes = 0;     ///< a host's part; a queue holds as many per batch
  std::int64_t batch_examples = 0;  ///< a host's part; 0: not known
  double storage_bytes_of_batch = 0;
  double cpu_s_of_batch = 0;
  std::vector<PlannedHosts> rows = {};  ///< 1, 2, 4, ... hosts, and those of the slice
  std::vector<MeasuredHosts> measured = {};
  std::string verdict = {};  ///< one sentence
  std::vector<std::string> notes = {};
};

inline constexpr int kPlannedHostsMax = 1024;

/// The batches that a recording must have so that the slowest of `hosts` hosts isn't in half of all
/// steps slower than any of them: 1 / (1 - 0.5^(1/hosts)), and at least 100.
std::uint64_t batches_needed(int hosts);

/// Returns the duty cycle that the recording shows, without the begin, where files are opened. What
/// a rank waits for others in an all-reduce is no work.
MeasuredHosts measured_hosts(const RecordedRun& run, int hosts);

/// Throws Error: no step in the recording (failed_precondition), too few for the slice's hosts, no
/// step time, no batch size for a model; an unknown slice or model, or one of more than 1,024 hosts
/// (invalid_argument); a model's batch that the slice's memory can't hold (resource_exhausted);
/// cancelled.
Plan plan(const RecordedRun& run, const PlanOptions& options);

}  // namespace infeed::tools
