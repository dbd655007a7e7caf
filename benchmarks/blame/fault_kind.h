#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/profile/planted_stalls.h"

/// Why: advice that blames the wrong record is worse than none. Each kind of fault is planted at
/// known places and the run is recorded. Then the profiler's sentence on each late step is compared
/// with the planted fault.
namespace infeed::blaming {

struct Round {
  std::string folder;  ///< an empty folder for the files of this round
  std::uint64_t seed;
};

struct FaultKind {
  std::string name;
  /// Runs once. Throws std::runtime_error, with the reason, if this machine can't do it.
  std::function<test::Judgement(const Round&)> run;
  bool is_healthy = false;  ///< nothing is planted, and nothing may be blamed
};

/// Slow functions: of an element, behind a shuffle or an interleave, waiting, for a lock.
std::vector<FaultKind> function_faults();
/// Slow records, slow files, a file system with bursts.
std::vector<FaultKind> storage_faults();
/// A pipeline that is too slow for a while, a quota, a pause, a memory limit, other work between
/// steps.
std::vector<FaultKind> surrounding_faults();

/// An IsRight: the call is this stage's, has this cause, and met the planted record.
test::IsRight names_record(tools::Cause cause);

}  // namespace infeed::blaming
