#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "sanitizers.h"

/// Runs the real program and sees what a user sees.
namespace infeed::test {

struct ProgramResult {
  int status = -1;  ///< exit status; 128 + signal when it was killed
  std::string out;
  std::string err;
  double seconds_after_signal = 0;  ///< from sending the signal to the end
};

struct ProgramOptions {
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< added
  std::string stdout_file = {};  ///< instead of ProgramResult::out
  bool as_nobody = false;        ///< only if we are root: drops all rights before it starts
  /// Asked every few milliseconds; once it returns true, `signal` is sent.
  std::function<bool()> send_signal_when = {};
  int signal = 0;
  std::string program = INFEED_COMMAND;
  std::chrono::seconds time_limit{kAddressSanitizer || kThreadSanitizer ? 600 : 240};
};

/// Far more than a command that was interrupted needs to end, on a busy machine, too, and far less than the work from
/// which it was called away.
inline constexpr double kSoonSeconds = 20;

/// Runs `infeed ARGUMENTS...`. Past its time limit the program is killed (status 137).
ProgramResult run_infeed(const std::vector<std::string>& arguments,
                         const ProgramOptions& options = {});

}  // namespace infeed::test
