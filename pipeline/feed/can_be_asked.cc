#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "infeed/feed.h"

namespace infeed {
namespace {

/// Stages that can't begin in the middle of their input without a bookmark.
constexpr std::array<std::string_view, 11> kNeedBookmarks = {
    "filter",     "take_while",        "flat_map",
    "interleave", "group_by_window",   "bucket_by_sequence_length",
    "pack",       "skip_errors",       "unbatch",
    "rebatch",    "rejection_resample"};
/// Stages whose state is all that they have seen, so they note no bookmarks.
constexpr std::array<std::string_view, 2> kRememberAll = {"scan", "unique"};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& names, const Node& node) {
  return std::find(names.begin(), names.end(), node.name()) != names.end();
}

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
  if (is_among(kRememberAll, node)) {
    refuse(node, "what it gives depends on all elements before, and it notes no bookmarks",
           "let it run once, before snapshot() or infeed convert");
  }
  if (bookmark_every == 0 && is_among(kNeedBookmarks, node)) {
    refuse(node, "bookmark_every is 0, so each range would make all elements before it again",
           "leave bookmark_every as it is");
  }
  for (const NodePointer& input : node.inputs()) {
    check_can_be_asked_by_step(*input, bookmark_every);
  }
}

}  // namespace infeed
