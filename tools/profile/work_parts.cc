#include "profile/work_parts.h"

#include <algorithm>

#include "profile/flow_model.h"

namespace infeed::tools {
namespace {

/// Windows are put together until the training step took this many elements in them: the stages
/// then worked on about as many.
constexpr std::uint64_t kElementsOfPart = 16;
/// Windows are also put together until looking at all stages for each part takes no longer than
/// this.
constexpr std::size_t kStagesOfParts = 20'000'000;

/// Returns the share of the windows' time in which the stage waited for room.
double full_share(const RecordedRun& run, int stage) {
  double full_ns = 0;
  double all_ns = 0;
  for (const RecordedWindow& window : run.windows) {
    all_ns += static_cast<double>(window.length_ns);
    const auto row = std::ranges::find(window.stages, stage, &StageWindow::stage);
    if (row != window.stages.end()) full_ns += static_cast<double>(row->full_ns);
  }
  return all_ns > 0 ? std::min(1.0, full_ns / all_ns) : 0;
}

}  // namespace

std::vector<WorkPart> parts_of(const RecordedRun& run, int ahead) {
  std::vector<WorkPart> parts;
  RecordedRun piece;
  piece.stages = run.stages;
  const std::size_t windows_min = run.windows.size() * run.stages.size() / kStagesOfParts;
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < run.windows.size(); ++i) {
    piece.windows.push_back(run.windows[i]);
    elements += run.windows[i].elements;
    const bool is_last = i + 1 == run.windows.size();
    const bool is_whole = elements >= kElementsOfPart && piece.windows.size() >= windows_min;
    if (!is_whole && !is_last) continue;
    const double per_s = FlowModel(piece).pipeline_steps_per_s();
    const std::uint64_t end_ns = run.windows[i].begin_ns + run.windows[i].length_ns;
    // A rest with hardly any element says little: the part before it goes on.
    if (elements < kElementsOfPart && !parts.empty()) {
      parts.back().end_ns = end_ns;
    } else {
      parts.push_back({end_ns, per_s > 0 ? 1e9 / per_s : 0, full_share(piece, ahead)});
    }
    piece.windows.clear();
    elements = 0;
  }
  return parts;
}

}  // namespace infeed::tools
