#include "convert/inputs/left_out_notes.h"

#include <fmt/format.h>

namespace infeed::tools {

std::vector<std::string> left_out_notes(const Omissions& left_out, const OmissionNames& names) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < kLeftOutKinds; ++i) {
    const auto& [count, first] = left_out[static_cast<LeftOut>(i)];
    if (count == 0) continue;
    notes.push_back(fmt::format("left out: {} {}: {}{}", count,
                                count == 1 ? names[i].one : names[i].many, fmt::join(first, ", "),
                                count > first.size() ? ", ..." : ""));
  }
  return notes;
}

}  // namespace infeed::tools
