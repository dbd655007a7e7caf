#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <infeed/pipeline/statistics.h>
#include <infeed/pipeline/traced_place.h>

#include "engine/stage_counters.h"
#include "engine/statistics/window.h"

// The content of a recording's lines (pipeline/recording.md), and their text.
namespace infeed::detail {

/// The numbers by which lines name stages.
using StageIds = std::unordered_map<const StageCounters*, int>;

/// Returns `text`, which may be any bytes, as JSON in quotes.
std::string json_text(std::string_view text);

/// A step, or pulls of a consumer that tells no steps. begin_ns counts from the recording's start.
struct RecordedStepRow {
  std::uint64_t number = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t infeed_wait_ns = 0;
  std::uint64_t transfer_ns = 0;
  std::uint64_t compute_ns = 0;
  std::uint64_t all_reduce_ns = 0;
  std::uint64_t idle_ns = 0;
  std::uint64_t elements = 0;
  std::string name;

  std::uint64_t length_ns() const {
    return infeed_wait_ns + transfer_ns + compute_ns + all_reduce_ns + idle_ns;
  }
};

/// Returns {"steps": [...]} or {"late_steps": [...]}. Unless `are_measured`, each next() is a step.
std::string line_of_steps(std::string_view kind, const std::vector<RecordedStepRow>& rows,
                          bool are_measured);

struct RecordedSlowCall {
  std::uint64_t begin_ns = 0;
  std::uint64_t took_ns = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t preempted_ns = 0;
  const StageCounters* stage = nullptr;
  std::uint64_t position = 0;
  std::uint64_t count = 1;
  std::uint64_t pass = 0;
  int thread = 0;
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;
  const char* waited_in = "";
  TracedPlace traced;
};

/// `kind`: "slow", or "outlier" for a call that took far longer than the stage's calls usually do.
std::string line_of_slow_call(std::string_view kind, const RecordedSlowCall& call, int stage);
/// `counters` are those of `stages`.
std::string line_of_stages(const std::vector<StageStatistics>& stages,
                           const std::vector<const StageCounters*>& counters, const StageIds& ids);

/// `throttled_ns`: the time in the window in which the control group was held back.
std::string line_of_window(const Window& window, std::uint64_t throttled_ns, const StageIds& ids);

}  // namespace infeed::detail
