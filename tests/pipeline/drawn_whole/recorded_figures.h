#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace infeed::test {

/// The sums of a recording, which pipeline/recording.md describes.
struct RecordedFigures {
  std::string problem = {};  ///< fault of the file itself; empty: none
  std::string why = {};      ///< why it ended
  std::uint64_t dropped_events = 0;
  std::uint64_t elements = 0;       ///< sum of all windows
  std::uint64_t step_elements = 0;  ///< sum of all steps, late ones included
  std::map<std::string, std::uint64_t> elements_by_path = {};
};

/// Reads the recording of a run that is over.
RecordedFigures read_recording(const std::string& file);

}  // namespace infeed::test
