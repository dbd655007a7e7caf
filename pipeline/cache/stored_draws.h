#pragma once

#include <vector>

#include <infeed/pipeline/stage.h>

#include "cache/store_journal.h"
#include "engine/seeds/signature.h"

// Stores the seeds by which inner datasets drew for the elements of a store. The next process
// describes these datasets anew and would draw other seeds. Elements that it makes after a stored
// part, or in place of a damaged one, would then come twice, or never.
namespace infeed::detail {

/// Returns what the current run has drawn so far for a store whose stage has this context.
std::vector<StoredDraw> draws_of_run(const StageContext& store, const Node& input);

/// Returns the seeds of the stages before the store.
AdoptedSeeds seeds_in(const std::vector<StoredDraw>& draws, const Node& input);

/// Returns true if the current run draws by the same seeds. It doesn't if a checkpoint gave it
/// others, or if it began before these were stored.
bool are_of_run(const std::vector<StoredDraw>& draws, const StageContext& store, const Node& input);

/// Adds the draws to the run's checkpoints.
void note_in_run(const std::vector<StoredDraw>& draws, const StageContext& store,
                 const Node& input);

}  // namespace infeed::detail
