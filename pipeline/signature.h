#pragma once

#include <string>
#include <vector>

#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/stage.h>

namespace infeed::detail {

/// Signatures of all stages that matter to values and order, from the sources on; the second and
/// later inputs of a stage are marked by their depth.
std::vector<std::string> signature_of(const Node& node);

/// Throws Error(failed_precondition) that names the first difference.
void check_signature(const Checkpoint& checkpoint, const Node& node);

/// Throws Error(resource_exhausted) with the sum by stage when the limit can't suffice.
void check_memory(const Node& node, std::uint64_t memory_bytes_max);

}  // namespace infeed::detail
