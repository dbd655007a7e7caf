#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/device/callbacks.h>
#include <infeed/records/file.h>

/// Why: each worker of a training writes a log of its own (WorkerLog). Whether they agree, which of them
/// is slow and which has stopped shows when the logs lie side by side; the chief puts them there.
///
///     const std::string folder = "run/logs";
///     infeed::FitOptions options{.worker = {.index = 0}};
///     options.callbacks = {std::make_shared<infeed::WorkerLog>(folder, options.worker.index),
///                          std::make_shared<infeed::WorkerTable>(folder, 4)};  // the chief's alone
///     std::string table = infeed::aggregate_worker_logs(folder, 4).table();
///
/// The logs are read as far as they are written, while the workers go on. A worker that goes on from a
/// checkpoint, or begins a training anew, says so in its log: what it had logged of later steps no longer
/// counts.
///
/// Thread-safety: any thread. Errors: invalid_argument for fewer workers than 1; of the files.
namespace infeed {

/// Returns FOLDER/worker-00003.log.
std::string worker_log_file(const std::string& folder, std::int32_t worker);

/// A line an execution in worker_log_file(), of each worker, behind what is there: step, loss, accuracy,
/// and what a step took this process on average but for the all-reduce, in which the quick ones wait for
/// the slow.
class WorkerLog : public Callback {
 public:
  WorkerLog(std::string folder, std::int32_t worker);
  std::string_view name() const override { return "worker_log"; }
  RunsOn runs_on() const override { return RunsOn::every_worker; }
  void on_begin(FitControl& fit) override;
  void on_execution_end(FitControl& fit, const StepLogs& logs) override;

 private:
  const std::string name_;
  File file_;           ///< from on_begin() on
  StepSummary before_;  ///< this execution
};

/// One step, as the workers have logged it.
struct WorkerStep {
  std::int64_t step = 0;   ///< as Callback has it: steps of all epochs
  std::int64_t epoch = 0;  ///< from 0
  double loss_min = 0;
  double loss_mean = 0;  ///< over the workers, each counting once
  double loss_max = 0;
  double accuracy = 0;       ///< the mean
  std::int32_t slowest = 0;  ///< the worker with the longest steps; the first of several
  double slowest_ms = 0;     ///< a step of this worker's, without the all-reduce
  std::vector<std::int32_t> missing = {};  ///< workers that haven't logged it
  friend bool operator==(const WorkerStep&, const WorkerStep&) = default;
};

struct WorkerLogs {
  std::vector<WorkerStep> steps = {};  ///< ascending
  /// Lines that aren't whole, which count for nothing: "worker-00002.log, line 7: 'step 12 ep'". The last
  /// line of a worker that writes, or was killed.
  std::vector<std::string> left_out = {};

  /// A line a step, and those that were left out:
  ///
  ///     //     step  epoch  loss min     mean      max  accuracy   slowest  ms a step
  ///     //      108      1    0.4000   0.5000   0.6000    0.7500  worker 3      12.31
  ///     //      112      1    0.3900   0.3900   0.3900    0.8000  worker 0      10.02  without 1, 2, 3
  std::string table() const;
};

/// Reads FOLDER/worker-00000.log and so on, of so many workers; one without a file hasn't begun and
/// misses every step.
WorkerLogs aggregate_worker_logs(const std::string& folder, std::int32_t workers);

/// Writes FOLDER/workers.txt after each epoch, on the chief: the table of what all have logged so far. Put
/// it behind the chief's own WorkerLog.
class WorkerTable : public Callback {
 public:
  WorkerTable(std::string folder, std::int32_t workers);
  std::string_view name() const override { return "worker_table"; }
  void on_epoch_end(FitControl& fit, const EpochLogs& logs) override;

 private:
  const std::string folder_;
  const std::int32_t workers_;
};

}  // namespace infeed
