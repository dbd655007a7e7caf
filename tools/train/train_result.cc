#include "train/train_result.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include <infeed/pipeline/executor.h>

#include "cli/json_text.h"

namespace infeed::tools {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double kPsPerUs = 1e6;
constexpr double kPsPerSecond = 1e12;

double share_of(const StepSummary& summary, std::int64_t part_ps) {
  if (summary.step_ps == 0) return 0;
  return static_cast<double>(part_ps) / static_cast<double>(summary.step_ps);
}

OrderedJson to_json(const std::vector<MeasuredRun>& runs) {
  OrderedJson list = OrderedJson::array();
  for (const MeasuredRun& run : runs) {
    const StepSummary& s = run.summary;
    list.push_back({{"name", run.name},
                    {"steps_per_s", s.steps_per_s},
                    {"images_per_s", s.examples_per_s},
                    {"images_per_s_turns", run.examples_per_s_turns},
                    {"duty_cycle", s.duty_cycle},
                    {"infeed_wait_share", s.infeed_wait_share},
                    {"shares",
                     {{"wait", share_of(s, s.infeed_wait_ps)},
                      {"transfer", share_of(s, s.transfer_ps)},
                      {"idle", share_of(s, s.idle_ps)},
                      {"busy", share_of(s, s.compute_ps + s.all_reduce_ps)}}},
                    {"verdict", to_string(s.verdict)},
                    {"speedup", s.examples_per_s / runs.front().summary.examples_per_s},
                    {"steps", s.steps},
                    {"seconds", static_cast<double>(s.span_ps) / 1e12}});
  }
  return list;
}

OrderedJson to_json(StepTime step) {
  return {{"compute_us", static_cast<double>(step.compute_ps) / kPsPerUs},
          {"all_reduce_us", static_cast<double>(step.all_reduce_ps) / kPsPerUs},
          {"total_us", static_cast<double>(step.total_ps()) / kPsPerUs}};
}

OrderedJson to_json(const TrainShards& shards) {
  return {{"files", shards.files},
          {"examples", shards.examples},
          {"bytes", shards.bytes},
          {"convert_seconds", shards.seconds},
          {"reused", shards.reused}};
}

/// Writes the account of a training's steps; its shares add up to 1.
OrderedJson to_json(const StepSummary& account) {
  return {{"steps", account.steps},
          {"examples_per_s", account.examples_per_s},
          {"step_us", static_cast<double>(account.step_ps) / kPsPerUs /
                          static_cast<double>(std::max<std::int64_t>(account.steps, 1))},
          {"shares",
           {{"wait", share_of(account, account.infeed_wait_ps)},
            {"transfer", share_of(account, account.transfer_ps)},
            {"compute", share_of(account, account.compute_ps)},
            {"all_reduce", share_of(account, account.all_reduce_ps)},
            {"idle", share_of(account, account.idle_ps)}}},
          {"verdict", to_string(account.verdict)}};
}

OrderedJson learning_json(const TrainResultFile& result) {
  const LearnResult& learning = result.learning;
  OrderedJson epochs = OrderedJson::array();
  for (const EpochResult& epoch : learning.epochs) {
    epochs.push_back({{"epoch", epoch.epoch},
                      {"loss", epoch.loss},
                      {"accuracy", epoch.accuracy},
                      {"test_loss", epoch.test_loss},
                      {"test_accuracy", epoch.test_accuracy},
                      {"learning_rate", epoch.learning_rate},
                      {"seconds", epoch.seconds}});
  }
  OrderedJson compilations = OrderedJson::array();
  for (const Compilation& compilation : learning.fit.compilations) {
    compilations.push_back(
        {{"step", compilation.step},
         {"signature", compilation.signature},
         {"reason", compilation.reason},
         {"seconds", static_cast<double>(compilation.compilation_ps) / kPsPerSecond}});
  }
  return {{"model", result.model},
          {"precision", to_string(result.precision)},
          {"batch", result.training_batch},
          {"resumed_at_step", learning.resumed_at},
          {"steps_per_epoch", learning.steps_per_epoch},
          {"seconds", learning.seconds},
          {"simulated_seconds", static_cast<double>(learning.fit.simulated.span_ps) / kPsPerSecond},
          {"compilations", compilations},
          {"model_flop_utilisation", learning.fit.model_flop_utilisation},
          {"accounts",
           {{"host", to_json(learning.fit.wall)}, {"slice", to_json(learning.fit.steady())}}},
          {"epochs", epochs},
          {"losses", learning.losses}};
}

OrderedJson to_json(const std::vector<DeviceTrick>& tricks) {
  OrderedJson rows = OrderedJson::array();
  for (const DeviceTrick& trick : tricks) {
    rows.push_back({{"name", trick.name},
                    {"global_batch", trick.batch},
                    {"step", to_json(trick.step)},
                    {"images_per_s", trick.examples_per_s},
                    {"gain", trick.gain},
                    {"test_accuracy",
                     trick.test_accuracy ? OrderedJson(*trick.test_accuracy) : OrderedJson()}});
  }
  return rows;
}

OrderedJson to_json(const std::vector<TrickGain>& gains) {
  OrderedJson rows = OrderedJson::array();
  for (const TrickGain& gain : gains) {
    rows.push_back({{"name", gain.name}, {"alone", gain.alone}, {"last", gain.last}});
  }
  return rows;
}

OrderedJson to_json(const std::vector<NetworkRow>& networks) {
  OrderedJson rows = OrderedJson::array();
  for (const NetworkRow& row : networks) {
    rows.push_back({{"network", row.network},
                    {"compression", to_string(row.compression)},
                    {"global_batch", row.batch},
                    {"step", to_json(row.step)},
                    {"naive", to_json(row.naive)},
                    {"tricks", to_json(row.tuned)},
                    {"gain", row.gain()}});
  }
  return rows;
}

OrderedJson to_json(const std::vector<TrainedTwice>& pairs) {
  OrderedJson rows = OrderedJson::array();
  for (const TrainedTwice& pair : pairs) {
    rows.push_back({{"model", pair.model},
                    {"compression", to_string(pair.compression)},
                    {"epochs", pair.epochs},
                    {"test_accuracy", pair.test_accuracy},
                    {"host_seconds", pair.without.host},
                    {"slice_seconds", pair.without.slice},
                    {"host_seconds_with", pair.with.host},
                    {"slice_seconds_with", pair.with.slice},
                    {"same_losses", pair.same_losses},
                    {"same_order", pair.same_order},
                    {"same_weights", pair.same_weights}});
  }
  return rows;
}

}  // namespace

double speedup(const std::vector<MeasuredRun>& runs) {
  if (runs.empty() || runs.front().summary.examples_per_s <= 0) return 0;
  return runs.back().summary.examples_per_s / runs.front().summary.examples_per_s;
}

std::string to_json(const TrainResultFile& result) {
  const OrderedJson json{
      {"infeed_version", INFEED_VERSION},
      {"speedup_total", speedup(result.runs)},
      {"test_accuracy",
       result.learning.epochs.empty() ? 0.0 : result.learning.epochs.back().test_accuracy},
      {"runs", to_json(result.runs)},
      {"trick_gains",
       to_json(result.runs.empty() ? std::vector<TrickGain>() : trick_gains(result.runs))},
      {"networks", to_json(result.networks)},
      {"geometric_mean_gain", geometric_mean_gain(result.networks)},
      {"device_tricks", to_json(result.device_tricks)},
      {"slice", result.slice},
      {"global_batch", result.batch},
      {"seed", result.seed},
      {"threads", result.threads},
      {"machine",
       {{"cores", std::thread::hardware_concurrency()}, {"usable_cores", usable_cores()}}},
      {"model_cost", result.model_cost},
      {"step", to_json(result.step)},
      {"training_shards", to_json(result.training_shards)},
      {"test_shards", to_json(result.test_shards)},
      {"training", learning_json(result)},
      {"training_without_tricks", to_json(result.twice)},
      {"checkpoint_folder", result.checkpoint_folder},
      {"log_folder", result.log_folder},
      {"seconds", result.seconds}};
  return json_text(json);
}

}  // namespace infeed::tools
