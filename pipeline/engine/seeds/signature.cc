#include "engine/seeds/signature.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string_view>

#include <infeed/detail/parse_whole.h>
#include <infeed/pipeline/memory_account.h>

#include "engine/buffer_bytes.h"

namespace infeed::detail {
namespace {

struct Line {
  const Node& node;
  std::string signature;
};

void collect_lines(const Node& node, std::vector<Line>& lines) {
  for (const NodePointer& input : node.inputs()) collect_lines(*input, lines);
  for (std::string& line : node.signature_elsewhere()) lines.push_back({node, std::move(line)});
  if (std::string line = node.signature(); !line.empty()) lines.push_back({node, std::move(line)});
}

/// Returns the number after the first `name` in a stage's line.
std::optional<std::uint64_t> number_behind(std::string_view name, std::string_view line) {
  const std::size_t found = line.find(name);
  if (found == line.npos) return std::nullopt;
  line.remove_prefix(found + name.size());
  std::uint64_t number = 0;
  return take_number(line, number) ? std::optional(number) : std::nullopt;
}

/// Returns the seeds in a checkpoint's line if it differs from the node's line by drawn seeds only.
std::optional<Seeds> drawn_seeds_in(const std::string& line, const Node& node) {
  const std::optional<Seeds> ours = node.seeds();
  const std::optional<std::uint64_t> seed = number_behind("seed=", line);
  if (!ours || !ours->drawn || !seed) return std::nullopt;
  const Seeds theirs{*seed, number_behind("seed2=", line).value_or(0), true, ours->inner};
  return node.signature_with(theirs) == line ? std::optional(theirs) : std::nullopt;
}

struct Need {
  std::string name;
  std::uint64_t bytes;
};

void collect_needs(const Node& node, std::vector<Need>& needs) {
  if (const std::uint64_t bytes = node.buffer_bytes_min(); bytes > 0) {
    needs.push_back({node.described(), bytes});
  }
  for (const NodePointer& input : node.inputs()) collect_needs(*input, needs);
}

}  // namespace

std::vector<std::string> signature_of(const Node& node, const AdoptedSeeds& adopted) {
  std::vector<Line> lines;
  collect_lines(node, lines);
  std::vector<std::string> signature;
  for (Line& line : lines) {
    const auto seeds = adopted.find(&line.node);
    signature.push_back(seeds == adopted.end() ? std::move(line.signature)
                                               : line.node.signature_with(seeds->second));
  }
  return signature;
}

std::string with_seed(const std::string& signature, std::uint64_t seed) {
  const std::size_t options = signature.find('(');
  if (options == signature.npos) return fmt::format("{}(seed={})", signature, seed);
  return fmt::format("{}(seed={}, {}", signature.substr(0, options), seed,
                     signature.substr(options + 1));
}

SignatureMatch match_signature(
    const std::vector<std::string>& theirs, const Node& node,
    const std::function<bool(const std::string& theirs, const std::string& ours)>& same) {
  std::vector<Line> lines;
  collect_lines(node, lines);
  SignatureMatch match{};
  for (std::size_t i = 0; i < std::min(lines.size(), theirs.size()); ++i) {
    const std::optional<Seeds> seeds = drawn_seeds_in(theirs[i], lines[i].node);
    if (seeds) match.adopted.try_emplace(&lines[i].node, *seeds);
  }
  match.ours = signature_of(node, match.adopted);
  const auto [their, our] =
      std::mismatch(theirs.begin(), theirs.end(), match.ours.begin(), match.ours.end(), same);
  match.matched = static_cast<std::size_t>(their - theirs.begin());
  match.is_whole = their == theirs.end() && our == match.ours.end();
  return match;
}

AdoptedSeeds check_signature(const Checkpoint& checkpoint, const Node& node) {
  SignatureMatch match = match_signature(checkpoint.signature, node, std::equal_to<>());
  if (match.is_whole) return std::move(match.adopted);
  const auto line = [&](const std::vector<std::string>& lines) {
    return match.matched < lines.size() ? lines[match.matched] : "(none)";
  };
  throw Error(
      ErrorCode::failed_precondition,
      fmt::format("the checkpoint belongs to another pipeline: its stage {} is '{}', this one's is "
                  "'{}'; resume with the pipeline that it was taken from, or start anew",
                  match.matched, line(checkpoint.signature), line(match.ours)));
}

void check_epoch(const IterateOptions& options) {
  if (!options.resume || !options.epoch || *options.epoch == options.resume->epoch) return;
  throw Error(
      ErrorCode::failed_precondition,
      fmt::format("the checkpoint is of epoch {}, but epoch {} is asked for; leave the epoch "
                  "out, or begin it without a checkpoint",
                  options.resume->epoch, *options.epoch));
}

void check_memory(const Node& node, std::uint64_t memory_bytes_max) {
  if (memory_bytes_max == 0) return;
  std::vector<Need> needs;
  collect_needs(node, needs);
  std::uint64_t sum = 0;
  std::string list;
  for (const Need& need : needs) {
    sum = std::min(sum + std::min(need.bytes, kBytesBeyondAll), kBytesBeyondAll);
    list += fmt::format("{}{} {} bytes", list.empty() ? "" : ", ", need.name, need.bytes);
  }
  const MemoryAccount account(memory_bytes_max);
  if (sum <= account.required_limit_bytes()) return;
  throw Error(
      ErrorCode::resource_exhausted,
      fmt::format("the pipeline's buffers need at least {} bytes ({}), but memory_bytes_max "
                  "{} leaves them {}; raise it to at least {}, or make the buffers smaller",
                  sum, list, memory_bytes_max, account.required_limit_bytes(),
                  MemoryAccount::limit_for(sum)));
}

}  // namespace infeed::detail
