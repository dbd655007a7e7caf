#pragma once

#include <cstdint>
#include <string>

#include "profile/profile_report.h"

/// Why: "would the pipeline that I have keep a v3-32 busy?" is answered from a recording. The times
/// of its batches on this machine are replayed in the way in which a slice takes its input. Each of
/// the slice's hosts is taken to be a machine like this one, which reads a part of its own.
namespace infeed::tools {

/// The run that --replay names: SLICE[:MODEL[:BATCH]].
struct ReplayRequest {
  std::string slice = {};
  std::string model = {};  ///< empty: the step that was recorded
  std::int64_t batch = 0;  ///< global; 0: each host takes batches as they were recorded

  /// Throws Error (invalid_argument) that names the unknown part and the known ones.
  static ReplayRequest parse(const std::string& text);
};

/// Throws Error when there is no step in the recording, no batch size where one is needed, or too
/// little memory on the slice for the model's batch.
ReplayedRun replay(const RecordedRun& run, const ReplayRequest& request);

}  // namespace infeed::tools
