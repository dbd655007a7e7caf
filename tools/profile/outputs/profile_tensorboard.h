#pragma once

#include <stop_token>
#include <string>

#include "profile/profile_report.h"
#include "profile/recorded_run.h"

/// Why: whoever watches a training run in TensorBoard sees its input beside its loss. Scalars, one
/// event file more in the folder:
///
///     step_ms/length, step_ms/infeed_wait, ...   each step's length and parts
///     input_bound_percent                        of a window's steps, by the last one's number
///     elements_per_s/LABEL                       each stage's rate, by the number of the step at
///     queue_elements/LABEL, memory_mb/LABEL      which the window ended
///
/// Throws as EventFileWriter does.
namespace infeed::tools {

/// Returns the file's name. When somebody asked to stop, no file is left.
std::string profile_tensorboard(const RecordedRun& run, const ProfileReport& report,
                                const std::string& directory, const std::stop_token& stop = {});

}  // namespace infeed::tools
