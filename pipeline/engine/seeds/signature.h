#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/iterate_options.h>
#include <infeed/pipeline/stage.h>

namespace infeed::detail {

/// The seeds that a run takes from its checkpoint, or from a node that keeps elements
/// (kept_seeds.h), keyed by the stages that have drawn others.
using AdoptedSeeds = std::unordered_map<const Node*, Seeds>;

/// The nodes whose inner datasets have drawn seeds for some elements. A node that keeps elements
/// keeps this with them: a run that reads them needs these seeds in its checkpoints, as the run
/// that made them did.
struct InnerDraws {
  std::vector<const Node*> nodes;
  bool by_outermost = false;  ///< by the seed of the outermost flat_map around the reader
};

/// Returns the signatures of all stages that matter to values and order, sources first. The second
/// and later inputs of a stage are marked by their depth.
std::vector<std::string> signature_of(const Node& node, const AdoptedSeeds& adopted = {});

/// Returns the signature with the seed as its first option: "map(version=2)" becomes "map(seed=7,
/// version=2)".
std::string with_seed(const std::string& signature, std::uint64_t seed);

/// The result of comparing a checkpoint's lines with a pipeline's.
struct SignatureMatch {
  AdoptedSeeds adopted;           ///< drawn seeds that differ, as in the checkpoint's lines
  std::vector<std::string> ours;  ///< signature_of() with the adopted seeds
  std::size_t matched;            ///< lines up to the first difference
  bool is_whole;                  ///< there is no difference
};
/// Compares the lines. `same` says whether two lines may differ by more than drawn seeds.
SignatureMatch match_signature(
    const std::vector<std::string>& theirs, const Node& node,
    const std::function<bool(const std::string& theirs, const std::string& ours)>& same);

/// Returns the seeds that the pipeline adopts from the checkpoint. Throws
/// Error(failed_precondition) that names the first difference.
AdoptedSeeds check_signature(const Checkpoint& checkpoint, const Node& node);

/// Throws for a resume in another epoch than the checkpoint's: its elements have another order, so some
/// would come twice and others never.
void check_epoch(const IterateOptions& options);

/// Throws Error(resource_exhausted) with the sum by stage if the limit can't suffice.
void check_memory(const Node& node, std::uint64_t memory_bytes_max);

}  // namespace infeed::detail
