#include "pipeline/drawn_whole/figures.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "pipeline/drawn_whole/recorded_figures.h"

namespace infeed::test {
namespace {

/// Stages that make at most one element of each element of their inputs.
bool is_within_input(const std::string& name) {
  static const std::set<std::string> kNames = {"map",
                                               "filter",
                                               "take",
                                               "skip",
                                               "shard",
                                               "prefetch",
                                               "shuffle",
                                               "take_while",
                                               "enumerate",
                                               "scan",
                                               "unique",
                                               "global_shuffle",
                                               "skip_errors",
                                               "batch",
                                               "ragged_batch",
                                               "padded_batch",
                                               "batch_into",
                                               "as_columns",
                                               "zip",
                                               "concatenate",
                                               "flat_map",
                                               "interleave",
                                               "parse",
                                               "parse_batch",
                                               "parse_columns",
                                               "sample",
                                               "choose",
                                               "bucket",
                                               "sample_from_datasets"};
  return kNames.contains(name);
}

class Figures {
 public:
  explicit Figures(const SeenRun& seen) : seen_(seen), all_(seen.run.statistics()) {}

  std::vector<std::string> problems() {
    if (all_.stages.empty()) return {"statistics() has no stage"};
    for (std::size_t i = 0; i < all_.stages.size(); ++i)
      inputs_[all_.stages[i].consumer].push_back(i);
    check_root();
    check_run();
    for (std::size_t i = 0; i < all_.stages.size(); ++i) {
      check_place(all_.stages[i], i);
      check_stage(all_.stages[i]);
      if (seen_.is_from_begin) check_inputs(all_.stages[i], i);
    }
    if (const RecordingStatus recording = seen_.run.recording(); recording.is_on) {
      check_recording(recording);
    }
    return std::move(problems_);
  }

 private:
  void expect(bool holds, const std::string& otherwise) {
    if (!holds) problems_.push_back(otherwise + "\n" + all_.table());
  }

  std::uint64_t places() const {
    return seen_.got.size() - (!seen_.got.empty() && is_terminal(seen_.got.back()) ? 1 : 0);
  }
  std::uint64_t errors() const {
    return static_cast<std::uint64_t>(
        std::count_if(seen_.got.begin(), seen_.got.end(),
                      [](const std::string& text) { return text.starts_with("! "); }));
  }
  bool has_ended_well() const { return !seen_.run.ended_by(); }

  void check_root() {
    const StageStatistics& root = all_.stages.front();
    const bool is_exact = seen_.is_from_begin && has_ended_well();
    expect(is_exact ? root.elements == places() : root.elements >= places(),
           fmt::format("the consumer took {} elements, {} handed over {}", places(), root.label,
                       root.elements));
    expect(is_exact ? root.errors == errors() : root.errors >= errors(),
           fmt::format("the consumer took {} errors, {} handed over {}", errors(), root.label,
                       root.errors));
    if (!seen_.is_of_integers || root.errors != 0 || root.bytes == 0) return;
    expect(root.bytes == root.elements * sizeof(std::int64_t),
           fmt::format("{} numbers are {} bytes", root.elements, root.bytes));
  }

  void check_run() {
    expect(all_.consumer_wait_ns <= all_.elapsed_ns,
           fmt::format("the consumer waited {} ns of {}", all_.consumer_wait_ns, all_.elapsed_ns));
    std::uint64_t cpu_ns = 0;
    for (const StageStatistics& stage : all_.stages) cpu_ns += stage.cpu_ns.value_or(0);
    expect(cpu_ns <= all_.process_cpu_ns,
           fmt::format("the stages took {} ns of the cores, the process {}", cpu_ns,
                       all_.process_cpu_ns));
    expect(!all_.verdict().empty(), "there is no verdict");
    expect(all_.recording_problem.empty(), "the recording failed: " + all_.recording_problem);
  }

  void check_place(const StageStatistics& stage, std::size_t at) {
    const bool is_root = at == 0;
    expect(is_root == (stage.consumer < 0), stage.label + " has no consumer, or the root has one");
    if (is_root || stage.consumer < 0) return;
    const auto consumer = static_cast<std::size_t>(stage.consumer);
    expect(consumer < at, stage.label + " stands before its consumer");
    expect(stage.depth == all_.stages[std::min(consumer, at)].depth + 1,
           stage.label + " is not one deeper than its consumer");
  }

  void check_stage(const StageStatistics& stage) {
    expect(stage.cpu_ns.has_value() == stage.blocked_ns.has_value(),
           stage.label + " has only one of cpu_ns and blocked_ns");
    if (stage.cpu_ns && stage.blocked_ns) {
      expect(*stage.cpu_ns + *stage.blocked_ns == stage.work_ns,
             fmt::format("{} ns on a core and {} off it are {} of {}", *stage.cpu_ns,
                         *stage.blocked_ns, stage.work_ns, stage.label));
    }
    expect(stage.buffered_elements == 0 && stage.buffered_bytes == 0,
           fmt::format("{} holds {} elements of {} bytes after the end", stage.label,
                       stage.buffered_elements, stage.buffered_bytes));
    expect(stage.counts.size() == stage.traits.counts.size(),
           stage.label + " has not as many counts as names for them");
  }

  void check_inputs(const StageStatistics& stage, std::size_t at) {
    std::uint64_t elements = 0;
    std::uint64_t inputs_ns = 0;
    const std::vector<std::size_t>& inputs = inputs_[static_cast<int>(at)];
    for (const std::size_t input : inputs) {
      elements += all_.stages[input].elements;
      inputs_ns += all_.stages[input].total_ns;
    }
    expect(inputs.empty() || !is_within_input(stage.name) || stage.elements <= elements,
           fmt::format("{} made {} elements of {}", stage.label, stage.elements, elements));
    if (stage.runs_ahead) return;
    // Each figure is rounded once.
    const std::uint64_t rounding_ns = 2 + inputs.size();
    expect(stage.work_ns <= stage.total_ns + rounding_ns,
           fmt::format("{} worked {} ns within {}", stage.label, stage.work_ns, stage.total_ns));
    expect(stage.total_ns <= stage.work_ns + inputs_ns + rounding_ns,
           fmt::format("{}'s {} ns are more than its own {} and its inputs' {}", stage.label,
                       stage.total_ns, stage.work_ns, inputs_ns));
  }

  void check_recording(const RecordingStatus& recording) {
    const RecordedFigures recorded = read_recording(recording.file);
    if (!recorded.problem.empty()) {
      return expect(false, recording.file + ": " + recorded.problem);
    }
    if (has_ended_well()) {
      expect(recorded.why == "end of data", "the recording ended by: " + recorded.why);
    }
    // Threads that run ahead may still hand over when the recording ends, and go on with it until the
    // iterator is over: what it has is no more than is counted now. Inner datasets' stages have the same
    // path where a flat_map's differ from pass to pass.
    std::map<std::string, std::uint64_t> handed_over;
    const PipelineStatistics now = seen_.run.statistics();
    for (const StageStatistics& stage : now.stages) handed_over[stage.path] += stage.elements;
    for (const auto& [path, elements] : recorded.elements_by_path) {
      expect(elements <= handed_over[path],
             fmt::format("the recording has {} elements of {}, the statistics {}", elements, path,
                         handed_over[path]));
    }
    if (recording.file.find(kShortRecording) != std::string::npos) return;
    expect(!has_ended_well() || recorded.elements == all_.stages.front().elements,
           fmt::format("the recording's windows have {} elements, the statistics {}",
                       recorded.elements, all_.stages.front().elements));
    expect(recorded.dropped_events != 0 || recorded.step_elements == places(),
           fmt::format("the recording's steps have {} elements, the consumer took {}",
                       recorded.step_elements, places()));
  }

  const SeenRun& seen_;
  const PipelineStatistics all_;
  std::map<int, std::vector<std::size_t>> inputs_;  ///< by consumer
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> figure_problems(const SeenRun& seen) { return Figures(seen).problems(); }

}  // namespace infeed::test
