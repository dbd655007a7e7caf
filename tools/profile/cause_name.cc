#include <array>
#include <cstddef>

#include "profile/profile_report.h"

namespace infeed::tools {
namespace {

struct CauseNames {
  const char* name;
  const char* words;
};

// In the order of the enumerators.
constexpr std::array<CauseNames, 12> kCauses = {{
    {"slow_read", "slow read"},
    {"slow_element", "slow element"},
    {"waiting_function", "function waited"},
    {"quota", "CPU quota"},
    {"others_on_cores", "others on the cores"},
    {"memory_limit", "memory limit"},
    {"tuner_change", "tuner's change"},
    {"starved", "starved"},
    {"recompilation", "recompilation"},
    {"slow_step", "slow step"},
    {"paused_consumer", "paused consumer"},
    {"unknown", "unknown"},
}};
static_assert(kCauses.size() == static_cast<std::size_t>(Cause::unknown) + 1);

const CauseNames& names_of(Cause cause) { return kCauses.at(static_cast<std::size_t>(cause)); }

}  // namespace

std::string name_of(Cause cause) { return names_of(cause).name; }
std::string words_of(Cause cause) { return names_of(cause).words; }

}  // namespace infeed::tools
