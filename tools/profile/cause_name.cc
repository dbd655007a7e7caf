#include "profile/profile_report.h"

namespace infeed::tools {

std::string name_of(Cause cause) {
  switch (cause) {
    case Cause::slow_read:
      return "slow_read";
    case Cause::slow_element:
      return "slow_element";
    case Cause::waiting_function:
      return "waiting_function";
    case Cause::quota:
      return "quota";
    case Cause::others_on_cores:
      return "others_on_cores";
    case Cause::memory_limit:
      return "memory_limit";
    case Cause::tuner_change:
      return "tuner_change";
    case Cause::starved:
      return "starved";
    case Cause::recompilation:
      return "recompilation";
    case Cause::slow_step:
      return "slow_step";
    case Cause::paused_consumer:
      return "paused_consumer";
    case Cause::unknown:
      return "unknown";
  }
  return "unknown";
}

std::string words_of(Cause cause) {
  switch (cause) {
    case Cause::slow_read:
      return "slow read";
    case Cause::slow_element:
      return "slow element";
    case Cause::waiting_function:
      return "function waited";
    case Cause::quota:
      return "CPU quota";
    case Cause::others_on_cores:
      return "others on the cores";
    case Cause::memory_limit:
      return "memory limit";
    case Cause::tuner_change:
      return "tuner's change";
    case Cause::starved:
      return "starved";
    case Cause::recompilation:
      return "recompilation";
    case Cause::slow_step:
      return "slow step";
    case Cause::paused_consumer:
      return "paused consumer";
    case Cause::unknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace infeed::tools
