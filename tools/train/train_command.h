#pragma once

#include "cli/command_line.h"

/// `infeed train`: the main job, from images to a trained model (train.h).
namespace infeed::tools {

Command add_train_command(CLI::App& app);

}  // namespace infeed::tools
