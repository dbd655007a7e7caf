#include "profile/replay.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include <infeed/detail/parse_whole.h>
#include <infeed/device/cost_model.h>
#include <infeed/device/hbm_need.h>
#include <infeed/device/slice.h>
#include <infeed/device/virtual_run.h>
#include <infeed/error.h>

#include "cli/limits.h"
#include "profile/recorded_service.h"

namespace infeed::tools {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::int64_t kStepsMin = 1000;
constexpr std::int64_t kStepsMax = 100'000;
/// The depth of the queues that a host has for its devices, and the one that it might have.
constexpr std::int32_t kDepth = 2;
constexpr std::int32_t kDeepQueue = 16;

bool spells_topology(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789x") == text.npos &&
         text.find('x') != text.npos;
}

/// Replays one host with the recorded step. The result should be the measured rate.
double as_recorded_steps_per_s(const RecordedService& service) {
  if (service.step_ps <= 0 || service.works_in_step) return 0;
  const VirtualResult result = run_virtual(
      Slice::parse("v3-8"), ServiceTimes::in_order(service.ps),
      {.batches = {{.examples = service.examples, .step = {.compute_ps = service.step_ps}}},
       .steps = static_cast<std::int64_t>(service.ps.size()),
       .queue_depth = service.queue_depth});
  return result.summary.steps_per_s;
}

}  // namespace

ReplayRequest ReplayRequest::parse(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (parts.size() > 1 && spells_topology(parts[1])) {  // v4:4x4x12 is a slice
    parts[0] += ":" + parts[1];
    parts.erase(parts.begin() + 1);
  }
  if (parts.size() > 3 || std::ranges::find(parts, "") != parts.end()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' names no replay; expected SLICE, SLICE:MODEL or "
                            "SLICE:MODEL:BATCH, such as v3-32:resnet50:4096",
                            text));
  }
  ReplayRequest request{.slice = parts[0]};
  Slice::parse(request.slice);
  if (parts.size() > 1) {
    request.model = parts[1];
    workload(request.model);
  }
  if (parts.size() > 2) {
    const std::string& number = parts[2];
    if (!detail::parse_whole(number, request.batch) || request.batch <= 0 ||
        request.batch > limits::global_batch) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("'{}' has a batch of '{}'; expected a whole number from 1 to {}",
                              text, number, limits::global_batch));
    }
  }
  return request;
}

ReplayedRun replay(const RecordedRun& run, const ReplayRequest& request) {
  const RecordedService service = recorded_service(run);
  const Slice slice = Slice::parse(request.slice);
  const std::int64_t hosts = slice.num_hosts();
  ReplayedRun replayed{.slice = slice.name(),
                       .model = request.model,
                       .hosts = slice.num_hosts(),
                       .batch = request.batch > 0 ? request.batch : service.examples * hosts};
  std::optional<Workload> model;
  if (!request.model.empty()) model = workload(request.model);
  VirtualBatch batch{.examples = replayed.batch, .bytes = service.bytes * hosts};
  std::vector<std::int64_t> times = service.ps;
  if (request.batch > 0 && service.examples > 0) {
    const std::int64_t of_host = (request.batch + hosts - 1) / hosts;
    times = for_other_batches(service.ps, service.examples, of_host);
    batch.bytes = static_cast<std::int64_t>(static_cast<double>(service.bytes) /
                                            static_cast<double>(service.examples) *
                                            static_cast<double>(request.batch));
  } else if (request.batch > 0) {
    replayed.note =
        "no stage of the recording makes batches: what a step took is taken for a host's share";
  }
  if (!model) {
    batch.step.compute_ps = service.step_ps;
    if (service.step_ps <= 0) {
      throw Error(ErrorCode::failed_precondition,
                  fmt::format("the recorded steps take no time of their own; name a model, as in "
                              "--replay {}:resnet50",
                              slice.name()))
          .at_file(run.path);
    }
  } else if (replayed.batch <= 0) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("no stage of the recording makes batches, so that the batch isn't "
                            "known; name it, as in --replay {}:{}:1024",
                            slice.name(), request.model))
        .at_file(run.path);
  } else {
    check_hbm(*model, slice, replayed.batch);
    batch.step = step_time(*model, slice, replayed.batch);
  }
  const ServiceTimes service_times =
      hosts == 1 ? ServiceTimes::in_order(times) : ServiceTimes::replayed(times, kSeed);
  VirtualOptions options{
      .batches = {batch},
      .steps = std::clamp(static_cast<std::int64_t>(times.size()), kStepsMin, kStepsMax),
      .queue_depth = kDepth};
  const VirtualResult result = run_virtual(slice, service_times, options);
  options.queue_depth = kDeepQueue;
  const VirtualResult deep = run_virtual(slice, service_times, options);
  replayed.step_ns = batch.step.total_ps() / 1000;
  replayed.steps = result.summary.steps;
  replayed.steps_per_s = result.summary.steps_per_s;
  replayed.examples_per_s = result.summary.examples_per_s;
  if (model)
    replayed.model_flop_utilisation =
        model_flop_utilisation(*model, slice, replayed.examples_per_s);
  replayed.input_bound_percent = 100 * result.summary.infeed_wait_share;
  replayed.deep_queue = kDeepQueue;
  replayed.deep_queue_input_bound_percent = 100 * deep.summary.infeed_wait_share;
  replayed.service_p50_ns = result.tail.host_p50_ps / 1000;
  replayed.service_p99_ns = result.tail.host_p99_ps / 1000;
  replayed.slowest_host_p50_ns = result.tail.step_p50_ps / 1000;
  replayed.as_recorded_steps_per_s = as_recorded_steps_per_s(service);
  return replayed;
}

}  // namespace infeed::tools
