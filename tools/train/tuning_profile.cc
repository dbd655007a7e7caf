#include "train/tuning_profile.h"

#include <infeed/records/file.h>
#include <infeed/records/output_file.h>

namespace infeed::tools {
namespace {

// A profile has some lines a stage. Larger files aren't read into memory.
constexpr std::size_t kProfileBytesMax = 64 * 1024;

}  // namespace

std::string tuning_profile_file(const std::string& checkpoint) { return checkpoint + ".tuning"; }

std::string load_tuning_profile(const std::string& checkpoint) {
  std::string text(kProfileBytesMax, '\0');
  try {
    text.resize(File::open_to_read(tuning_profile_file(checkpoint)).read_at(0, text));
  } catch (const Error&) {
    return {};  // there is none, and the tuner begins anew
  }
  return text;
}

void save_tuning_profile(const std::string& checkpoint, const TuningReport& report) {
  if (report.profile.empty()) return;
  replace_file(tuning_profile_file(checkpoint), report.profile);
}

}  // namespace infeed::tools
