#include "infeed/pipeline/reshard_checkpoint.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "engine/seeds/signature.h"

namespace infeed::detail {
namespace {

constexpr auto kCountMax = std::uint64_t{INT64_MAX};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::failed_precondition, "reshard_checkpoint: " + why);
}

/// Returns "shard" for "shard(count=4, index=0)". Only shard and batch may change their numbers.
std::string_view without_shares(std::string_view signature) {
  for (const std::string_view name : {"shard(", "batch("}) {
    if (signature.find(name) != signature.npos) return signature.substr(0, signature.find('('));
  }
  return signature;
}

/// Returns the pipeline's signature, in which the checkpoint's seeds replace drawn ones. Throws if
/// the pipeline is another one.
std::vector<std::string> check_same_but_for_shares(const Checkpoint& checkpoint, const Node& node) {
  SignatureMatch match = match_signature(checkpoint.signature, node,
                                         [](const std::string& before, const std::string& now) {
                                           return without_shares(before) == without_shares(now);
                                         });
  if (match.is_whole) return std::move(match.ours);
  const auto line = [&](const std::vector<std::string>& lines) {
    return match.matched < lines.size() ? lines[match.matched] : "(none)";
  };
  refuse(
      fmt::format("the checkpoint belongs to another pipeline: its stage {} is '{}', this one's "
                  "is '{}'; only the numbers of shard and batch may change",
                  match.matched, line(checkpoint.signature), line(match.ours)));
}

/// Returns true if each stage after shard gives a number of elements that follows from its input's,
/// so that it is the same on all hosts. A stage's promise (assert_cardinality) isn't enough: the
/// stages before it are asked, too.
bool is_counted_down_to_shard(const Node& node) {
  if (node.cardinality().is_unknown()) return false;
  if (node.name() == "shard") return true;
  return std::all_of(node.inputs().begin(), node.inputs().end(),
                     [](const NodePointer& input) { return is_counted_down_to_shard(*input); });
}

}  // namespace

Checkpoint make_resharded(const Checkpoint& checkpoint, const Node& node,
                          const ReshardOptions& options) {
  const auto [before, now, rows_before, rows_now] = options;
  if (before == 0 || now == 0 || rows_before == 0 || rows_now == 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("reshard_checkpoint: shards are {} and {}, rows {} and {}; each must "
                            "be at least 1",
                            before, now, rows_before, rows_now));
  }
  std::vector<std::string> signature = check_same_but_for_shares(checkpoint, node);
  if (!is_counted_down_to_shard(node)) {
    refuse(
        "the pipeline has a stage that gives an unknown number of elements, so the hosts needn't "
        "stand at the same place of the shared stream; put such stages before shard");
  }
  if (checkpoint.errors > 0) {
    refuse(
        fmt::format("{} errors were seen before the checkpoint, so the hosts needn't stand at "
                    "the same place; resume with {} shards",
                    checkpoint.errors, before));
  }
  // Each number may be any of 64 bits, since somebody may have written the text by hand.
  __extension__ using Wide = unsigned __int128;
  const Wide together = Wide{rows_before} * before;
  const Wide share = Wide{rows_now} * now;
  const bool is_countable =
      together <= kCountMax && share <= kCountMax && checkpoint.position <= kCountMax / together;
  if (!is_countable) {
    refuse(
        fmt::format("position {} of {} hosts with {} rows each, for {} hosts with {} rows each, is "
                    "beyond {} elements, so it is damaged or a number is wrong",
                    checkpoint.position, before, rows_before, now, rows_now, kCountMax));
  }
  const auto elements = static_cast<std::uint64_t>(checkpoint.position * together);
  const auto elements_a_position = static_cast<std::uint64_t>(share);
  if (elements % elements_a_position != 0) {
    refuse(
        fmt::format("{} hosts took {} elements together, which is no whole number of positions "
                    "of {} hosts with {} rows each; take the checkpoint where it is",
                    before, elements, now, rows_now));
  }
  return Checkpoint{.position = elements / elements_a_position,
                    .epoch = checkpoint.epoch,
                    .errors = 0,
                    .order_hash = 0,
                    .signature = std::move(signature)};
}

}  // namespace infeed::detail
