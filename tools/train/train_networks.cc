#include "train/train_networks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include <infeed/device/hbm_need.h>
#include <infeed/device/models.h>
#include <infeed/device/virtual_run.h>

#include "train/device_tricks.h"

namespace infeed::tools {
namespace {

constexpr std::int64_t kSteps = 1000;

/// Networks larger than those trained here, the shortest step first.
constexpr std::array<std::string_view, 5> kLargerNetworks = {
    "resnet20", "wide-resnet-16-4", "wide-resnet-28-10", "resnet50-28", "bert-large"};

/// Assumes that a part of the pipeline's batch takes it the same part of the time.
StepSummary fed_by(const Slice& slice, const VirtualBatch& batch, const MeasuredRun& run,
                   std::int64_t pipeline_batch) {
  std::vector<std::int64_t> service_ps = run.service_ps;
  for (std::int64_t& ps : service_ps) ps = ps / pipeline_batch * batch.examples;
  return run_virtual(slice, ServiceTimes::in_order(std::move(service_ps)),
                     {.batches = {batch}, .steps = kSteps})
      .summary;
}

}  // namespace

std::vector<Network> trained_networks(const Slice& slice, std::int64_t batch) {
  std::vector<Network> networks;
  for (const std::string_view model : nn::model_names()) {
    networks.push_back({std::string(model), graph_of(model, slice, batch).workload()});
  }
  return networks;
}

std::vector<Network> all_networks(const Slice& slice, std::int64_t batch) {
  std::vector<Network> networks = trained_networks(slice, batch);
  for (const std::string_view name : kLargerNetworks) {
    networks.push_back({std::string(name), workload(name)});
  }
  return networks;
}

std::vector<NetworkRow> feed_networks(const Slice& slice, const std::vector<Network>& networks,
                                      std::int64_t batch, const StepOptions& options,
                                      const std::vector<FeedingEnds>& ends) {
  std::vector<NetworkRow> rows;
  for (const Network& network : networks) {
    const std::int64_t examples = std::min(batch, largest_batch(network.workload, slice, options));
    if (examples == 0) continue;
    const VirtualBatch taken{.examples = examples,
                             .bytes = examples * network.workload.input_bytes(options.precision),
                             .step = step_time(network.workload, slice, examples, options)};
    for (const FeedingEnds& end : ends) {
      rows.push_back({.network = network.name,
                      .compression = end.compression,
                      .batch = examples,
                      .step = taken.step,
                      .naive = fed_by(slice, taken, end.naive, batch),
                      .tuned = fed_by(slice, taken, end.tuned, batch)});
    }
  }
  return rows;
}

double geometric_mean(const std::vector<double>& gains) {
  if (gains.empty()) return 1;
  const double sum = std::accumulate(gains.begin(), gains.end(), 0.0, [](double logs, double gain) {
    return logs + std::log(gain);
  });
  return std::exp(sum / static_cast<double>(gains.size()));
}

double geometric_mean_gain(const std::vector<NetworkRow>& rows) {
  std::vector<double> gains;
  for (const NetworkRow& row : rows) gains.push_back(row.gain());
  return geometric_mean(gains);
}

void print_networks(const std::vector<NetworkRow>& rows, Terminal& terminal) {
  terminal.line(terminal.paint(
      Paint::dim,
      fmt::format("  {:17} {:6} {:>5} {:>9} {:>9} {:>10} {:>7}  {}", "network", "shards", "batch",
                  "step us", "naive/s", "tricks/s", "gain", "input-bound")));
  const auto rate = [](const StepSummary& summary) {
    return with_commas(std::llround(summary.examples_per_s));
  };
  for (const NetworkRow& row : rows) {
    const double step_us = static_cast<double>(row.step.total_ps()) / 1e6;
    terminal.line(fmt::format("  {:17} {:6} {:>5} {:>9} {:>9} {:>10} {:>6.2f}x  {} {} {}",
                              row.network, to_string(row.compression), with_commas(row.batch),
                              with_commas(std::llround(step_us)), rate(row.naive), rate(row.tuned),
                              row.gain(), to_string(row.naive.verdict), terminal.either("→", "->"),
                              to_string(row.tuned.verdict)));
  }
  terminal.line(fmt::format("  {:60} {:>6.2f}x",
                            fmt::format("geometric mean of all {}", rows.size()),
                            geometric_mean_gain(rows)));
}

}  // namespace infeed::tools
