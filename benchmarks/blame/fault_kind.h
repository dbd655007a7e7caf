#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/profile/planted_stalls.h"

/// Why: advice that blames the wrong record is worse than none. Each kind of fault is planted at
/// known places, the run is recorded, and what the profiler says of each late step is compared with
/// what was planted.
namespace infeed::blaming {

struct Round {
  std::string folder;  ///< an empty one, for the files of this round
  std::uint64_t seed;
};

struct FaultKind {
  std::string name;
  /// One run. Throws std::runtime_error where this machine can't do it, saying why.
  std::function<testing::Judgement(const Round&)> run;
  bool is_healthy = false;  ///< nothing is planted, and nothing may be blamed
};

/// Slow functions: of an element, behind a shuffle or an interleave, waiting, for a lock.
std::vector<FaultKind> function_faults();
/// Slow records, slow files, a file system that has bursts.
std::vector<FaultKind> storage_faults();
/// A pipeline that is too slow for a while, a quota, a pause, a limit of memory, steps of their own.
std::vector<FaultKind> surrounding_faults();

/// For IsRight: the call is this stage's, has this cause, and came upon the planted record.
testing::IsRight names_record(tools::Cause cause);

}  // namespace infeed::blaming
