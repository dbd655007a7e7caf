#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/device/callbacks.h>
#include <infeed/records/file.h>

/// Why: each worker of a training writes its own log (WorkerLog). Side by side the logs show
/// whether the workers agree, which is slow and which has stopped. The chief puts them side by
/// side.
///
///     const std::string folder = "run/logs";
///     infeed::FitOptions options{.worker = {.index = 0}};
///     options.callbacks = {std::make_shared<infeed::WorkerLog>(folder, options.worker.index),
///                          std::make_shared<infeed::WorkerTable>(folder, 4)};  // the chief's alone
///     std::string table = infeed::aggregate_worker_logs(folder, 4).table();
///
/// The logs are read as far as they are written, while the workers go on. A worker that resumes
/// from a checkpoint, or begins anew, writes that into its log. Its earlier lines for later steps
/// then no longer count.
///
/// Thread-safety: any thread. Errors: invalid_argument for no workers, and the errors of files.
namespace infeed {

/// Returns FOLDER/worker-00003.log.
std::string worker_log_file(const std::string& folder, std::int32_t worker);

/// Appends a line for each execution to worker_log_file() of its worker: step, loss, accuracy, and
/// the mean time of a step in this process without the all-reduce, in which quick workers wait for
/// slow ones.
class WorkerLog : public Callback {
 public:
  WorkerLog(std::string folder, std::int32_t worker);
  std::string_view name() const override { return "worker_log"; }
  RunsOn runs_on() const override { return RunsOn::every_worker; }
  void on_begin(FitControl& fit) override;
  void on_execution_end(FitControl& fit, const StepLogs& logs) override;

 private:
  const std::string name_;
  File file_;           ///< open from on_begin() on
  StepSummary before_;  ///< account before this execution
};

/// One step, from the logs of all workers.
struct WorkerStep {
  std::int64_t step = 0;   ///< as in Callback: steps of all epochs
  std::int64_t epoch = 0;  ///< from 0
  double loss_min = 0;
  double loss_mean = 0;  ///< over the workers, each counting once
  double loss_max = 0;
  double accuracy = 0;       ///< the mean over the workers
  std::int32_t slowest = 0;  ///< the worker with the longest steps; the first if several
  double slowest_ms = 0;     ///< time of a step of that worker, without the all-reduce
  std::vector<std::int32_t> missing = {};  ///< workers that haven't logged the step
  friend bool operator==(const WorkerStep&, const WorkerStep&) = default;
};

struct WorkerLogs {
  std::vector<WorkerStep> steps = {};  ///< ascending
  /// Incomplete lines, which aren't counted: "worker-00002.log, line 7: 'step 12 ep'". Usually the
  /// last line of a worker that is writing or was killed.
  std::vector<std::string> left_out = {};

  /// Returns a line a step, and the lines that were left out:
  ///
  ///     //     step  epoch  loss min     mean      max  accuracy   slowest  ms a step
  ///     //      108      1    0.4000   0.5000   0.6000    0.7500  worker 3      12.31
  ///     //      112      1    0.3900   0.3900   0.3900    0.8000  worker 0      10.02  without 1, 2, 3
  std::string table() const;
};

/// Reads FOLDER/worker-00000.log and so on, of `workers` workers. A worker without a file hasn't
/// begun and misses every step.
WorkerLogs aggregate_worker_logs(const std::string& folder, std::int32_t workers);

/// Writes FOLDER/workers.txt on the chief after each epoch: the table of everything logged so far.
/// Put it behind the chief's own WorkerLog.
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
