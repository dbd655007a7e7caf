#pragma once

#include <stop_token>
#include <string>

#include "profile/profile_report.h"
#include "profile/recorded_run.h"

/// Why: a profile is looked at with the tools that people already have open. Each output says the
/// same, as all are made from the same run and report.
///
///     write_profile_outputs(run, report, {.json = "profile.json", .html = "profile.html"});
///
/// README.md beside this says what each holds.
namespace infeed::tools {

/// The files to write, except empty names. A file appears whole or not at all, in the place of one
/// that is there; folders are made.
struct ProfileOutputs {
  std::string text = {};   ///< a file: what the terminal shows, without colours
  std::string json = {};   ///< a file
  std::string html = {};   ///< a file that needs no other
  std::string trace = {};  ///< a file: Chrome's trace events, for Perfetto and chrome://tracing
  std::string tensorboard = {};  ///< a folder, which gets an event file more
  /// A folder, as `xprof --logdir` takes it, which gets a session more.
  std::string xprof = {};
};

/// Throws Error before anything is written when a file's folder isn't there or may not be written
/// to, as replace_file() and EventFileWriter do (a full disk), and when somebody asked to stop
/// (cancelled): the outputs before that one are whole then, and it and those behind it aren't there.
void write_profile_outputs(const RecordedRun& run, const ProfileReport& report,
                           const ProfileOutputs& outputs, const std::stop_token& stop = {});

}  // namespace infeed::tools
