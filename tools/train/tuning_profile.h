#pragma once

#include <string>

#include <infeed/pipeline/tuning.h>

/// Why: a run begins with the settings that the tuner found in the last one. They lie beside the
/// folder of the model's checkpoints, as FOLDER.tuning, in text. The tuner checks whether they
/// still fit; TuningReport::notes tell.
namespace infeed::tools {

std::string tuning_profile_file(const std::string& checkpoint);

/// Returns the text for TunerOptions::profile; empty if there is none or it can't be read: it only
/// saves a second.
std::string load_tuning_profile(const std::string& checkpoint);

/// Writes the file, unless the report is empty. Throws as replace_file() does.
void save_tuning_profile(const std::string& checkpoint, const TuningReport& report);

}  // namespace infeed::tools
