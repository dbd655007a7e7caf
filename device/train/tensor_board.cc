#include <fmt/format.h>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "infeed/device/callbacks.h"
#include "refuse.h"

namespace infeed {
namespace {

EventFileWriter& open_at(std::optional<EventFileWriter>& writer, const std::string& folder,
                         std::int64_t step) {
  if (!writer) {
    writer.emplace(folder);
    writer->start_at(step);
  }
  return *writer;
}

/// Writes loss, accuracy and user-defined metrics, with tags that begin with `prefix`.
void write_metrics(EventFileWriter& events, std::string_view prefix, std::int64_t step,
                   const Metrics& metrics) {
  events.scalar(fmt::format("{}loss", prefix), step, metrics.loss());
  events.scalar(fmt::format("{}accuracy", prefix), step, metrics.accuracy());
  for (const NamedSum& own : metrics.sums) {
    events.scalar(fmt::format("{}{}", prefix, own.name), step, metrics.mean(own.name));
  }
}

void write_histogram(EventFileWriter& events, const std::string& tag, std::int64_t epoch,
                     const Tensor& values) {
  const std::int64_t not_finite = events.histogram(tag, epoch, values.values<float>());
  if (not_finite > 0) {
    events.scalar("not_finite/" + tag, epoch, static_cast<double>(not_finite));
  }
}

/// Gives each operation a unique name below that of its kernel: "kernel_2/relu", "kernel_2/relu_1".
std::vector<EventNode> nodes_of(const StepGraph& graph) {
  std::vector<EventNode> nodes;
  std::unordered_set<std::string> names;
  std::unordered_map<std::string, std::int64_t> repeats;
  for (const GraphOperation& operation : graph.operations()) {
    const std::string kernel =
        operation.kernel < 0 ? "not_needed" : fmt::format("kernel_{}", operation.kernel);
    const std::string base = fmt::format("{}/{}", kernel, operation.name);
    std::string name = base;
    // Another operation may already have the numbered name.
    while (!names.insert(name).second) name = fmt::format("{}_{}", base, ++repeats[base]);
    EventNode node{.name = std::move(name), .op = operation.name, .output = operation.output};
    for (const std::int32_t input : operation.inputs) {
      node.inputs.push_back(nodes[static_cast<std::size_t>(input)].name);
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace

TensorBoard::TensorBoard(std::string folder)
    : TensorBoard(TensorBoardOptions{.folder = std::move(folder)}) {}

TensorBoard::TensorBoard(TensorBoardOptions options) : options_(std::move(options)) {
  if (options_.every_steps < 0 || options_.histograms_every_epochs < 0) {
    detail::refuse(
        "TensorBoard's points every {} steps and histograms every {} epochs; take 1 or more, or 0 "
        "for none",
        options_.every_steps, options_.histograms_every_epochs);
  }
}

EventFileWriter& TensorBoard::training_at(std::int64_t epoch) {
  return open_at(training_, options_.folder + "/train", epoch);
}

/// Begins new files for another fit(), which mark where it begins.
void TensorBoard::on_begin(FitControl&) {
  training_.reset();
  validation_.reset();
  steps_.reset();
  has_graph_ = false;
}

void TensorBoard::on_execution_end(FitControl& fit, const StepLogs& logs) {
  const StepGraph* const graph = options_.graph && !has_graph_ ? fit.graph() : nullptr;
  if (graph != nullptr) {
    training_at(logs.epoch).graph(nodes_of(*graph));
    has_graph_ = true;
  }
  if (options_.every_steps == 0) return;
  // The first execution opens the file even if it writes nothing, so that the file begins with this
  // process.
  EventFileWriter& events = open_at(steps_, options_.folder + "/steps", logs.step - logs.steps + 1);
  if (!logs.is_due(options_.every_steps)) return;
  write_metrics(events, "batch_", logs.step, logs.training);
  events.scalar("batch_learning_rate", logs.step, logs.rate);
}

void TensorBoard::on_epoch_end(FitControl& fit, const EpochLogs& logs) {
  EventFileWriter& events = training_at(logs.epoch);
  write_metrics(events, "epoch_", logs.epoch, logs.training);
  events.scalar("epoch_learning_rate", logs.epoch, logs.rate);
  const FitAccounts accounts = fit.accounts();
  if (accounts.host.steps > 0) {
    events.scalar("host_infeed_wait", logs.epoch, accounts.host.infeed_wait_share);
    events.scalar("slice_infeed_wait", logs.epoch, accounts.slice.infeed_wait_share);
  }
  if (options_.histograms_every_epochs > 0 && logs.epoch % options_.histograms_every_epochs == 0) {
    write_histograms(fit, logs.epoch);
  }
  if (!logs.validation) return;
  write_metrics(open_at(validation_, options_.folder + "/validation", logs.epoch), "epoch_",
                logs.epoch, *logs.validation);
}

void TensorBoard::write_histograms(const FitControl& fit, std::int64_t epoch) {
  EventFileWriter& events = training_at(epoch);
  for (const Variable& variable : fit.variables()) {
    if (!variable.trainable()) continue;
    write_histogram(events, "weights/" + variable.name(), epoch, variable.value());
  }
  for (const auto& [variable, gradient] : fit.gradients()) {
    write_histogram(events, "gradients/" + variable.name(), epoch, gradient);
  }
}

}  // namespace infeed
