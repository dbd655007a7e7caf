#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "../autotune/workload.h"

/// Why: the gain of a change shows only if nothing else differs. Each run of a workload is a
/// separate process, with fixed knobs, cores and variations.
namespace infeed::what_if {

struct Setting {
  std::map<std::string, std::int64_t> workers = {};  ///< by the stage's label
  int cores = 0;                                     ///< cores that it may use; 0: all
  autotuning::Variation variation = {};

  std::string text() const;
};

struct MeasureOptions {
  double seconds = 2;
  std::filesystem::path data = {};
};

/// Returns elements a second without the beginning. Writes a recording if a file is named. Throws
/// std::runtime_error with the process's error.
double measured_rate(const autotuning::Workload& workload, const Setting& setting,
                     const MeasureOptions& options, const std::filesystem::path& recording = {});

/// Returns the workers' knobs that may be changed, with their largest values.
std::map<std::string, std::int64_t> knobs_of(const autotuning::Workload& workload,
                                             const MeasureOptions& options);

}  // namespace infeed::what_if
