#pragma once

#include <string>

#include <infeed/pipeline/tuning.h>

/// Why: what the tuner has learnt in one run is where the next one begins. It lies beside the folder
/// of the model's checkpoints, as FOLDER.tuning, in text; whether it still fits is the tuner's to find out, and
/// TuningReport::notes say so.
namespace infeed::tools {

std::string tuning_profile_file(const std::string& checkpoint);

/// For TunerOptions::profile. Empty where there is none or it can't be read: it only saves a second.
std::string load_tuning_profile(const std::string& checkpoint);

/// Leaves the file as it is while nothing is known. Throws as replace_file() does.
void save_tuning_profile(const std::string& checkpoint, const TuningReport& report);

}  // namespace infeed::tools
