#pragma once

#include <cstdint>
#include <string>

#include "profile/profile_report.h"
#include "profile/recorded_run.h"

/// A made-up run with figures that are easy to check, and the report that explains it.
namespace infeed::test {

struct SyntheticOptions {
  std::uint64_t steps = 400;
  std::uint64_t first_step = 1000;
  /// One in so many steps waits for a slow read or a slow element, by turns, or compiles anew.
  std::uint64_t late_every = 40;
  std::string file = "data/train-00003-of-00016.tfrecord";
  std::string function = "augment";  ///< the name that the user gave to the map
  std::string program = "train";
};

struct SyntheticProfile {
  tools::RecordedRun run = {};
  tools::ProfileReport report = {};
};

/// prefetch < batch < map 'augment' < shuffle < records; a typical step takes 20 ms: 4 waiting,
/// 1 transfer, 12 compute, 2 all-reduce, 1 idle. The map is the bottleneck.
SyntheticProfile synthetic_profile(const SyntheticOptions& options = {});

}  // namespace infeed::test
