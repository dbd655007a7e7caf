#include "signature.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/pipeline/memory_account.h>

namespace infeed::detail {
namespace {

void collect_signatures(const Node& node, std::vector<std::string>& lines) {
  for (const NodePointer& input : node.inputs()) collect_signatures(*input, lines);
  std::string line = node.signature();
  if (!line.empty()) lines.push_back(std::move(line));
}

struct Need {
  std::string name;
  std::uint64_t bytes;
};

void collect_needs(const Node& node, std::vector<Need>& needs) {
  if (const std::uint64_t bytes = node.buffer_bytes_min(); bytes > 0) {
    needs.push_back({node.name(), bytes});
  }
  for (const NodePointer& input : node.inputs()) collect_needs(*input, needs);
}

}  // namespace

std::vector<std::string> signature_of(const Node& node) {
  std::vector<std::string> lines;
  collect_signatures(node, lines);
  return lines;
}

void check_signature(const Checkpoint& checkpoint, const Node& node) {
  const std::vector<std::string> ours = signature_of(node);
  const std::vector<std::string>& theirs = checkpoint.signature;
  if (ours == theirs) return;
  const auto [our, their] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
  throw Error(
      ErrorCode::failed_precondition,
      fmt::format("the checkpoint belongs to another pipeline: its stage {} is '{}', this one's is "
                  "'{}'; resume with the pipeline that it was taken from, or start anew",
                  our - ours.begin(), their == theirs.end() ? "(none)" : *their,
                  our == ours.end() ? "(none)" : *our));
}

void check_memory(const Node& node, std::uint64_t memory_bytes_max) {
  if (memory_bytes_max == 0) return;
  std::vector<Need> needs;
  collect_needs(node, needs);
  std::uint64_t sum = 0;
  std::string list;
  for (const Need& need : needs) {
    sum += need.bytes;
    list += fmt::format("{}{} {} bytes", list.empty() ? "" : ", ", need.name, need.bytes);
  }
  const MemoryAccount account(memory_bytes_max);
  if (sum <= account.rigid_limit_bytes()) return;
  throw Error(
      ErrorCode::resource_exhausted,
      fmt::format("the pipeline's buffers need at least {} bytes ({}), but memory_bytes_max "
                  "{} leaves them {}; raise it or make the buffers smaller",
                  sum, list, memory_bytes_max, account.rigid_limit_bytes()));
}

}  // namespace infeed::detail
