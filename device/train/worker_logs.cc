#include "infeed/device/worker_logs.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <infeed/detail/parse_whole.h>
#include <infeed/records/output_file.h>

#include "refuse.h"
#include "time/clock_units.h"

namespace infeed {
namespace {

/// A line of one worker.
struct LoggedStep {
  std::int64_t epoch = 0;
  double loss = 0;
  double accuracy = 0;
  double ms = 0;
};

void require_workers(std::int32_t workers) {
  if (workers >= 1) return;
  detail::refuse("logs of {} workers; say how many there are, 1 or more", workers);
}

/// True if the last line lacks its newline, since a kill cut it.
bool ends_within_a_line(const File& file) {
  const std::uint64_t size = file.size_bytes().value_or(0);
  char last = '\n';
  if (size > 0) file.read_at(size - 1, std::span(&last, 1));
  return last != '\n';
}

/// Takes `text` and the number behind it off the line. Returns false if they aren't there.
template <class Number>
bool take_number_behind(std::string_view text, std::string_view& line, Number& number) {
  if (!line.starts_with(text)) return false;
  line.remove_prefix(text.size());
  return detail::take_number(line, number);
}

/// Reads a line of WorkerLog; nothing if it is incomplete.
std::optional<std::pair<std::int64_t, LoggedStep>> logged_step(std::string_view line) {
  std::int64_t step = 0;
  LoggedStep logged;
  const bool is_whole = take_number_behind("step ", line, step) &&
                        take_number_behind(" epoch ", line, logged.epoch) &&
                        take_number_behind(" loss ", line, logged.loss) &&
                        take_number_behind(", accuracy ", line, logged.accuracy) &&
                        take_number_behind(", ", line, logged.ms) && line == " ms a step\n";
  if (!is_whole) return std::nullopt;
  return std::pair(step, logged);
}

/// Reads the line with which WorkerLog begins, and returns the last step at that time.
std::optional<std::int64_t> begun_behind(std::string_view line) {
  std::int64_t step = 0;
  if (take_number_behind("begins behind step ", line, step) && line == "\n") return step;
  return std::nullopt;
}

std::string refused_line(const std::string& file, std::size_t number, std::string_view line) {
  constexpr std::size_t kShownBytes = 80;
  const std::string_view shown = line.substr(0, std::min(line.find('\n'), kShownBytes));
  return fmt::format("{}, line {}: '{}'", std::filesystem::path(file).filename().string(), number,
                     shown);
}

/// Returns one worker's lines by their steps.
std::map<std::int64_t, LoggedStep> read_log(const std::string& file,
                                            std::vector<std::string>& left_out) {
  std::map<std::int64_t, LoggedStep> steps;
  std::error_code error;
  const bool is_there = std::filesystem::exists(file, error);
  if (error) throw system_error("look for", file, error.value());
  if (!is_there) return steps;  // its worker hasn't begun
  const std::string text = read_file(file);
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end == rest.npos ? end : end + 1);
    rest.remove_prefix(line.size());
    if (const auto logged = logged_step(line)) {
      steps[logged->first] = logged->second;
    } else if (const auto step = begun_behind(line)) {
      steps.erase(steps.upper_bound(*step), steps.end());  // the worker does them anew
    } else {
      left_out.push_back(refused_line(file, number, line));
    }
  }
  return steps;
}

WorkerStep summed_up(std::int64_t step, const std::map<std::int32_t, LoggedStep>& logged,
                     std::int32_t workers) {
  const auto& [first_worker, first] = *logged.begin();
  WorkerStep sum{.step = step,
                 .epoch = first.epoch,
                 .loss_min = first.loss,
                 .loss_max = first.loss,
                 .slowest = first_worker,
                 .slowest_ms = first.ms};
  for (const auto& [worker, one] : logged) {
    sum.loss_min = std::min(sum.loss_min, one.loss);
    sum.loss_max = std::max(sum.loss_max, one.loss);
    sum.loss_mean += one.loss;
    sum.accuracy += one.accuracy;
    if (one.ms > sum.slowest_ms) {
      sum.slowest = worker;
      sum.slowest_ms = one.ms;
    }
  }
  sum.loss_mean /= static_cast<double>(logged.size());
  sum.accuracy /= static_cast<double>(logged.size());
  for (std::int32_t worker = 0; worker < workers; ++worker) {
    if (!logged.contains(worker)) sum.missing.push_back(worker);
  }
  return sum;
}

}  // namespace

WorkerLogs aggregate_worker_logs(const std::string& folder, std::int32_t workers) {
  require_workers(workers);
  WorkerLogs logs;
  std::map<std::int64_t, std::map<std::int32_t, LoggedStep>> steps;
  for (std::int32_t worker = 0; worker < workers; ++worker) {
    for (const auto& [step, logged] : read_log(worker_log_file(folder, worker), logs.left_out)) {
      steps[step][worker] = logged;
    }
  }
  for (const auto& [step, logged] : steps) logs.steps.push_back(summed_up(step, logged, workers));
  return logs;
}

std::string WorkerLogs::table() const {
  std::string text =
      fmt::format("{:>8} {:>6} {:>9} {:>8} {:>8} {:>9} {:>13} {:>10}\n", "step", "epoch",
                  "loss min", "mean", "max", "accuracy", "slowest", "ms a step");
  for (const WorkerStep& step : steps) {
    text += fmt::format("{:>8} {:>6} {:>9.4f} {:>8.4f} {:>8.4f} {:>9.4f} {:>13} {:>10.2f}",
                        step.step, step.epoch, step.loss_min, step.loss_mean, step.loss_max,
                        step.accuracy, fmt::format("worker {}", step.slowest), step.slowest_ms);
    if (!step.missing.empty()) text += fmt::format("  without {}", fmt::join(step.missing, ", "));
    text += "\n";
  }
  for (const std::string& line : left_out) text += fmt::format("left out: {}\n", line);
  return text;
}

WorkerTable::WorkerTable(std::string folder, std::int32_t workers)
    : folder_(std::move(folder)), workers_(workers) {
  require_workers(workers);
  make_folder(folder_);
}

void WorkerTable::on_epoch_end(FitControl&, const EpochLogs&) {
  replace_file(folder_ + "/workers.txt", aggregate_worker_logs(folder_, workers_).table(),
               Durability::leave_to_system);
}

std::string worker_log_file(const std::string& folder, std::int32_t worker) {
  return fmt::format("{}/worker-{:05}.log", folder, worker);
}

WorkerLog::WorkerLog(std::string folder, std::int32_t worker)
    : name_(worker_log_file(folder, worker)) {
  make_folder(folder);
}

void WorkerLog::on_begin(FitControl& fit) {
  before_ = {};
  file_ = File::open_own(name_, O_RDWR | O_CREAT | O_APPEND);
  file_.write(fmt::format("{}begins behind step {}\n", ends_within_a_line(file_) ? "\n" : "",
                          fit.state().step));
}

void WorkerLog::on_execution_end(FitControl& fit, const StepLogs& logs) {
  const StepSummary now = fit.accounts().host;
  const auto own_ps = [](const StepSummary& account) {
    return account.infeed_wait_ps + account.transfer_ps + account.compute_ps;
  };
  const auto steps = static_cast<double>(std::max<std::int64_t>(now.steps - before_.steps, 1));
  const double ms = static_cast<double>(own_ps(now) - own_ps(before_)) / detail::kPsPerMs / steps;
  before_ = now;
  file_.write(fmt::format("step {} epoch {} loss {:.4f}, accuracy {:.4f}, {:.2f} ms a step\n",
                          logs.step, logs.epoch, logs.training.loss(), logs.training.accuracy(),
                          ms));
}

}  // namespace infeed
