#include <fmt/format.h>
#include <string_view>

#include <infeed/pipeline/node.h>

#include "infeed/feed.h"

namespace infeed {
namespace {

[[noreturn]] void refuse(const Node& node, std::string_view why, std::string_view advice) {
  throw Error(ErrorCode::failed_precondition,
              fmt::format("{} can't be asked by step: {}; {}", node.described(), why, advice));
}

}  // namespace

void check_can_be_asked_by_step(const Node& node, std::uint64_t bookmark_every) {
  if (node.inputs().empty() && node.cardinality().is_unknown()) {
    refuse(node, "how many elements it has isn't known, so each range would read it from its start",
           "write the data as record files with an index (infeed convert), or put snapshot() in "
           "another job before it");
  }
  const StageTraits traits = node.traits();
  if (!traits.is_ordered) {
    refuse(node,
           "its elements come in another order each time (ordered = false), so some would be in "
           "several workers' steps and others in none",
           "leave `ordered` as it is");
  }
  if (traits.begins == Begins::at_start) {
    refuse(node, "what it gives depends on all elements before, and it notes no bookmarks",
           "let it run once, before snapshot() or infeed convert");
  }
  if (bookmark_every == 0 && traits.begins == Begins::at_bookmarks) {
    refuse(node, "bookmark_every is 0, so each range would make all elements before it again",
           "leave bookmark_every as it is");
  }
  for (const NodePointer& input : node.inputs()) {
    check_can_be_asked_by_step(*input, bookmark_every);
  }
}

}  // namespace infeed
