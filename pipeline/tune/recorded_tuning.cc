#include "infeed/pipeline/recorded_tuning.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <utility>

#include <infeed/records/file.h>

namespace infeed {
namespace {

std::string text_of(const TuningObservation& seen) {
  std::string text =
      fmt::format("window {} {} {} {} {} {:.3f} {:.3f} {} {} {} {} {}\n", seen.at_ns,
                  seen.window_ns, seen.elements, seen.consumer_wait_ns, seen.process_cpu_ns,
                  seen.cores, seen.cores_of_others, seen.memory_bytes, seen.memory_limit_bytes,
                  seen.ready_bytes, seen.group_bytes, seen.group_limit_bytes);
  for (const StageObservation& stage : seen.stages) {
    text +=
        fmt::format("stage {} {} {} {} {} {} {}\n", stage.consumer, stage.inside, stage.elements,
                    stage.buffered_elements, stage.cpu_ns, stage.blocked_ns, stage.label);
    if (stage.pass_bytes != 0) text += fmt::format("pass {}\n", stage.pass_bytes);
  }
  for (const KnobState& knob : seen.knobs) {
    text += fmt::format("knob {} {} {} {} {} {} {} {} {}\n", knob.id, knob.stage,
                        static_cast<int>(knob.kind), static_cast<int>(knob.shape), knob.value,
                        knob.min, knob.max, knob.waits ? 1 : 0, knob.low);
  }
  return text;
}

class RecordingPolicy final : public TuningPolicy {
 public:
  RecordingPolicy(std::shared_ptr<TuningPolicy> policy, const std::filesystem::path& file)
      : policy_(std::move(policy)), file_(opened(file)) {}

  TuningDecision observe(const TuningObservation& seen) override {
    try {
      if (file_.is_open()) file_.write(text_of(seen));
    } catch (const Error&) {
      file_.close();  // the recording ends, and the run goes on
    }
    return policy_->observe(seen);
  }

 private:
  static File opened(const std::filesystem::path& file) {
    try {
      return File::open(file, O_WRONLY | O_CREAT | O_TRUNC);
    } catch (const Error&) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("record_tuning: '{}' can't be written; name a file in a folder that "
                              "is there",
                              file.string()));
    }
  }

  const std::shared_ptr<TuningPolicy> policy_;
  File file_;
};

/// Adds a line to `windows`. False if it can't be read.
bool read_line(const std::string& line, std::vector<TuningObservation>& windows) {
  std::istringstream words(line);
  std::string what;
  words >> what;
  if (what == "window") {
    TuningObservation& seen = windows.emplace_back();
    words >> seen.at_ns >> seen.window_ns >> seen.elements >> seen.consumer_wait_ns >>
        seen.process_cpu_ns >> seen.cores >> seen.cores_of_others >> seen.memory_bytes >>
        seen.memory_limit_bytes;
    if (words.fail()) return false;
    // Older recordings end here, without the figures that follow.
    if (words >> std::ws; words.eof()) return true;
    words >> seen.ready_bytes >> seen.group_bytes >> seen.group_limit_bytes;
    return !words.fail();
  }
  if (windows.empty()) return false;
  if (what == "stage") {
    StageObservation& stage = windows.back().stages.emplace_back();
    words >> stage.consumer >> stage.inside >> stage.elements >> stage.buffered_elements >>
        stage.cpu_ns >> stage.blocked_ns;
    return static_cast<bool>(std::getline(words >> std::ws, stage.label));
  }
  if (what == "pass" && !windows.back().stages.empty()) {
    words >> windows.back().stages.back().pass_bytes;
    return !words.fail();
  }
  if (what != "knob") return false;
  KnobState& knob = windows.back().knobs.emplace_back();
  int kind = 0;
  int shape = 0;
  words >> knob.id >> knob.stage >> kind >> shape >> knob.value >> knob.min >> knob.max >>
      knob.waits >> knob.low;
  knob.kind = static_cast<KnobKind>(kind);
  knob.shape = static_cast<KnobShape>(shape);
  const bool has_stage =
      knob.stage >= 0 && static_cast<std::size_t>(knob.stage) < windows.back().stages.size();
  return !words.fail() && has_stage;
}

}  // namespace

std::shared_ptr<TuningPolicy> record_tuning(std::shared_ptr<TuningPolicy> policy,
                                            const std::filesystem::path& file) {
  return std::make_shared<RecordingPolicy>(std::move(policy), file);
}

std::vector<TuningObservation> read_recorded_tuning(const std::filesystem::path& file) {
  std::ifstream lines(file);
  std::vector<TuningObservation> windows;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || read_line(line, windows)) continue;
    throw Error(ErrorCode::data_loss,
                fmt::format("{}: line {} is '{}', which is no window, stage or knob", file.string(),
                            number, line.substr(0, 80)));
  }
  return windows;
}

}  // namespace infeed
