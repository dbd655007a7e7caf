#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>
#include <infeed/device/step_options.h>
#include <infeed/records/compression.h>

#include "cli/terminal.h"
#include "train/train_ablation.h"

/// Why: the gain of feeding tricks depends on the network: a long step hides the slowest pipeline,
/// a short one waits for the fastest. So the two ends of the comparison are shown for one network
/// after the other, whatever the result.
namespace infeed::tools {

struct Network {
  std::string name;
  Workload workload;
};

/// Returns the networks that are trained here (model_names()), traced at their share of the batch.
std::vector<Network> trained_networks(const Slice& slice, std::int64_t batch);
/// Returns these, and then larger ones of which only the cost is known: up to resnet50-28 and
/// bert-large.
std::vector<Network> all_networks(const Slice& slice, std::int64_t batch);

/// The two ends of the comparison, measured with shards of this compression while nothing held them
/// up.
struct FeedingEnds {
  Compression compression;
  MeasuredRun naive;
  MeasuredRun tuned;
};

/// A network fed by either end, on the device's clock (run_virtual, by MeasuredRun::service_ps).
/// The batch is the pipelines', or the largest that the slice's memory holds.
struct NetworkRow {
  std::string network;
  Compression compression;
  std::int64_t batch = 0;
  StepTime step;
  StepSummary naive;
  StepSummary tuned;
  double gain() const { return tuned.examples_per_s / naive.examples_per_s; }
};

std::vector<NetworkRow> feed_networks(const Slice& slice, const std::vector<Network>& networks,
                                      std::int64_t batch, const StepOptions& options,
                                      const std::vector<FeedingEnds>& ends);

/// Returns 1 for none.
double geometric_mean(const std::vector<double>& gains);
double geometric_mean_gain(const std::vector<NetworkRow>& rows);

void print_networks(const std::vector<NetworkRow>& rows, Terminal& terminal);

}  // namespace infeed::tools
