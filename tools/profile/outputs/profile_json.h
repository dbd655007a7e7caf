#pragma once

#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>

#include "profile/profile_report.h"
#include "profile/recorded_run.h"

/// Why: scripts and CI ask the same questions as a person. The schema is described in
/// tools/profile/README.md. A name in it keeps its meaning; a change raises the version.
namespace infeed::tools {

inline constexpr int kProfileSchemaVersion = 1;

/// Throws Error (cancelled) when somebody asked to stop.
nlohmann::ordered_json profile_json(const RecordedRun& run, const ProfileReport& report,
                                    const std::stop_token& stop = {});

/// The same as text: UTF-8, whatever bytes the names have.
std::string profile_json_text(const RecordedRun& run, const ProfileReport& report,
                              const std::stop_token& stop = {});

}  // namespace infeed::tools
