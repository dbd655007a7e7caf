#include "train/tuning_profile.h"

#include <fstream>

#include <infeed/records/output_file.h>

namespace infeed::tools {
namespace {

// A profile has some lines a stage. Larger files aren't read into memory.
constexpr std::size_t kProfileBytesMax = 64 * 1024;

}  // namespace

std::string tuning_profile_file(const std::string& checkpoint) { return checkpoint + ".tuning"; }

std::string load_tuning_profile(const std::string& checkpoint) {
  std::ifstream file(tuning_profile_file(checkpoint), std::ios::binary);
  std::string text(kProfileBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(file.bad() ? 0 : static_cast<std::size_t>(file.gcount()));
  return text;
}

void save_tuning_profile(const std::string& checkpoint, const TuningReport& report) {
  if (report.profile.empty()) return;
  replace_file(tuning_profile_file(checkpoint), report.profile);
}

}  // namespace infeed::tools
