#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/left_out.h>

namespace infeed::tools {

struct OneAndMany {
  std::string_view one;
  std::string_view many;
};

/// An input's names for the things that it leaves out, in the order of LeftOut.
using OmissionNames = std::array<OneAndMany, kLeftOutKinds>;

/// Returns a line for each reason: "left out: 6 hidden members: train/._0.png, ...".
std::vector<std::string> left_out_notes(const Omissions& left_out, const OmissionNames& names);

}  // namespace infeed::tools
