#pragma once

#include <vector>

#include <infeed/pipeline/stage.h>

#include "cache/element_store.h"
#include "engine/seeds/signature.h"

// By what seeds inner datasets drew for the elements of a store. The next process describes these
// datasets anew and would draw others: what it makes behind a part that is there, or in place of a
// damaged one, would come twice, or never.
namespace infeed::detail {

/// What the run at hand has drawn until now for a store whose stage has this context.
std::vector<StoredDraw> draws_of_run(const StageContext& store, const Node& input);

/// The seeds of the stages before the store.
AdoptedSeeds seeds_in(const std::vector<StoredDraw>& draws, const Node& input);

/// Whether the run at hand draws by the same. If not, a checkpoint told it otherwise, or it began
/// before they were stored.
bool are_of_run(const std::vector<StoredDraw>& draws, const StageContext& store, const Node& input);

/// So that the run's checkpoints have them.
void note_in_run(const std::vector<StoredDraw>& draws, const StageContext& store,
                 const Node& input);

}  // namespace infeed::detail
