#pragma once

#include <stop_token>
#include <string>

#include "profile/profile_report.h"
#include "profile/recorded_run.h"

/// Why: XProf (TensorBoard's profiler) has pages for exactly this question, and people know them:
/// the input-pipeline analyser, the trace viewer, tf.data's bottleneck analysis.
///
///     profile_xprof(run, report, "logs");  // then: xprof --logdir logs
///
/// It writes LOGDIR/plugins/profile/SESSION/HOST.xplane.pb with a session of its own each time, as
/// readers keep what they computed beside the file. The device is shown as a TPU, which is the kind
/// whose waits for input the analyser takes from infeed operations. Where a step waited, the host
/// shows the iterators from the training step to the stage that is to blame (the late step's stage,
/// else the bottleneck), and the time is that stage's.
///
/// Throws Error: the folder can't be made, the disk is full, somebody asked to stop (cancelled).
namespace infeed::tools {

/// Returns the file's name.
std::string profile_xprof(const RecordedRun& run, const ProfileReport& report,
                          const std::string& logdir, const std::stop_token& stop = {});

/// Returns the file's bytes: an XSpace message.
std::string profile_xspace(const RecordedRun& run, const ProfileReport& report,
                           const std::stop_token& stop = {});

}  // namespace infeed::tools
