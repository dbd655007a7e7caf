#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/tuning_policy.h>

/// Why: a tuner's mistake on one machine can be examined on another. Its windows are kept as text,
/// and put through a policy again without threads and clocks.
///
///     auto policy = infeed::record_tuning(infeed::make_tuner(), "windows.txt");
///     auto iterator = dataset.iterate({.tuner = {.policy = policy}});
///     // later, or elsewhere
///     auto tuner = infeed::make_tuner();
///     for (const auto& window : infeed::read_recorded_tuning("windows.txt")) {
///       std::puts(tuner->observe(window).verdict.c_str());
///     }
namespace infeed {

/// Returns a policy that writes each window to the file (a line for it, each stage and each knob),
/// and then asks `policy`. Throws Error if the file can't be made.
std::shared_ptr<TuningPolicy> record_tuning(std::shared_ptr<TuningPolicy> policy,
                                            const std::filesystem::path& file);

/// Returns the windows of a file. Throws Error(data_loss) that names the line that it can't read.
std::vector<TuningObservation> read_recorded_tuning(const std::filesystem::path& file);

}  // namespace infeed
