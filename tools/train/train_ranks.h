#pragma once

#include <functional>
#include <string_view>

#include <infeed/communicator.h>

#include "cli/terminal.h"
#include "train/train.h"
#include "train/train_recipe.h"
#include "train/train_shards.h"

/// Why: `mpirun -n 4 infeed train` is one training. The chief, rank 0, makes the shards, prints,
/// and writes checkpoints, logs and results; the others only compute.
namespace infeed::tools {

/// Says how many ranks train together; prints nothing for a process alone. Throws
/// failed_precondition, with the rank, if one has another version or was asked for another training.
void begin_together(const TrainJob& job, const TrainRecipe& recipe, Terminal& terminal);

/// Calls `make` at the chief and returns its result at all ranks. An error of it is thrown at all:
/// "rank 0 failed: ...". `ranks`: null for a process alone.
TrainShards shards_of_chief(Communicator* ranks, const std::function<TrainShards()>& make);

/// Lets this rank record for `infeed profile` into a file of its own: with INFEED_PROFILE=run.profile
/// rank 2 writes run.profile.rank2. A rank that trains nothing has another role than "rank", so that
/// its recording isn't compared with the trainers'. Call it before other threads read the environment.
void record_by_rank(const World& world, std::string_view role = "rank");

}  // namespace infeed::tools
