#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/stage.h>

namespace infeed::detail {

/// The seeds that a run takes from its checkpoint, or from who keeps elements (kept_seeds.h), by the
/// stages that have drawn others.
using AdoptedSeeds = std::unordered_map<const Node*, Seeds>;

/// Whose inner datasets have drawn for some elements. Who keeps elements keeps it with them: a run
/// that reads them needs these seeds in its checkpoints, as the run that made them did.
struct InnerDraws {
  std::vector<const Node*> nodes;
  bool by_outermost = false;  ///< by the seed of the outermost flat_map that the reader is in
};

/// Signatures of all stages that matter to values and order, from the sources on; the second and
/// later inputs of a stage are marked by their depth.
std::vector<std::string> signature_of(const Node& node, const AdoptedSeeds& adopted = {});

/// "map(version=2)" with "seed=7" as its first option.
std::string with_seed(const std::string& signature, std::uint64_t seed);

/// How far the lines of a checkpoint are those of a pipeline.
struct SignatureMatch {
  AdoptedSeeds adopted;           ///< drawn seeds that differ, as the lines have them
  std::vector<std::string> ours;  ///< signature_of() with these
  std::size_t matched;            ///< lines up to the first difference
  bool is_whole;                  ///< there is none
};
/// `same` says whether two lines that differ by more than drawn seeds may do so.
SignatureMatch match_signature(
    const std::vector<std::string>& theirs, const Node& node,
    const std::function<bool(const std::string& theirs, const std::string& ours)>& same);

/// What the pipeline adopts from the checkpoint. Throws Error(failed_precondition) that names the
/// first difference.
AdoptedSeeds check_signature(const Checkpoint& checkpoint, const Node& node);

/// Throws Error(resource_exhausted) with the sum by stage when the limit can't suffice.
void check_memory(const Node& node, std::uint64_t memory_bytes_max);

}  // namespace infeed::detail
