#pragma once

#include <string>
#include <vector>

#include "pipeline/drawn_whole/run.h"

namespace infeed::test {

/// A run that is over, as its consumer saw it.
struct SeenRun {
  const Run& run;
  const Stream& got;
  bool is_from_begin = true;    ///< false: it went on from a checkpoint
  bool is_of_integers = false;  ///< each element takes eight bytes
};

/// Returns what is wrong with the statistics of a run, and with its recording if there is one: in
/// themselves, with each other, and with the stream.
std::vector<std::string> figure_problems(const SeenRun& seen);

/// The file name of recordings whose size is so limited that they lose their older half.
inline constexpr const char* kShortRecording = "short.profile";

}  // namespace infeed::test
