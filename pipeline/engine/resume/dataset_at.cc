#include <fmt/format.h>

#include "engine/iterator_context.h"
#include "engine/seeds/signature.h"
#include "infeed/pipeline/dataset.h"

namespace infeed::detail {
namespace {

/// Throws if a stage would draw from a seed that another process has not.
void check_seeds(const Node& node) {
  const std::optional<Seeds> seeds = node.seeds();
  if (seeds && seeds->drawn && !seeds->inner) {
    throw Error(
        ErrorCode::failed_precondition,
        fmt::format("at(): {} has drawn its seed itself, and a run in another process has "
                    "drawn another one; give a checkpoint of the run as `resume`, or a seed",
                    node.described()));
  }
  for (const NodePointer& input : node.inputs()) check_seeds(*input);
}

}  // namespace

IterateOptions begin_at(const Node& node, std::uint64_t step, IterateOptions options) {
  options.trace = true;
  if (!options.resume) {
    check_seeds(node);
    if (!options.epoch) options.epoch = 0;
    options.skip = step;
  } else if (options.resume->position <= step) {
    options.skip = step - options.resume->position;
  } else {
    options.resume->position = step;
    options.resume->order_hash = 0;
  }
  return options;
}

void check_found(const Node& node, const Checkpoint& behind, bool is_found, bool is_resumed) {
  if (!is_found) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("at(): the dataset has no such step: it ends after {} elements",
                            behind.position));
  }
  // Inner datasets' stages that draw by a seed that nobody gave put that seed into their flat_map's
  // line.
  if (!is_resumed && behind.signature != signature_of(node)) {
    throw Error(
        ErrorCode::failed_precondition,
        "at(): a stage in an inner dataset has drawn by a seed that nobody gave, and a run "
        "in another process has drawn another one; give a checkpoint of the run as `resume`, "
        "or a seed");
  }
}

std::vector<TracedPlace> IteratorCore::rows_of(std::uint64_t position) const {
  if (!run_->traces()) {
    throw Error(ErrorCode::failed_precondition,
                "rows_of: nothing is kept; set IterateOptions::trace");
  }
  if (root_ == nullptr) return {TracedPlace::unknown("the iteration is over")};
  TracedPlace place = root_->trace(position);
  std::vector<TracedPlace> rows;
  if (place.rows.empty()) {
    rows.push_back(std::move(place));
  } else {
    rows = std::move(place.rows);
  }
  // at() returns them when the iterator, which has the stages' labels, is gone.
  for (TracedPlace& row : rows) {
    if (row.stage != nullptr) row = TracedPlace::unknown(row.why());
  }
  return rows;
}

}  // namespace infeed::detail
