#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "../autotune/workload.h"

/// Why: what a change brings is seen only where nothing else differs. Each run of a workload has a
/// process of its own, which fixes the knobs, the cores and what else there is to be had.
namespace infeed::what_if {

struct Setting {
  std::map<std::string, std::int64_t> workers = {};  ///< by the stage's label
  int cores = 0;                                     ///< that it may use; 0: all
  autotuning::Variation variation = {};

  std::string text() const;
};

struct MeasureOptions {
  double seconds = 2;
  std::filesystem::path data = {};
};

/// Elements a second, the beginning left out. Writes a recording where a file is named. Throws
/// std::runtime_error with what the process said.
double measured_rate(const autotuning::Workload& workload, const Setting& setting,
                     const MeasureOptions& options, const std::filesystem::path& recording = {});

/// The workers' knobs that may be changed, with the most that they can be set to.
std::map<std::string, std::int64_t> knobs_of(const autotuning::Workload& workload,
                                             const MeasureOptions& options);

}  // namespace infeed::what_if
